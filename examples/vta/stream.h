/*
 * A program of the accelerator in the making: instructions in an order in which they
 * could run one after another.
 *
 * The scratchpad elements and DRAM bytes of each instruction follow from its fields and
 * micro-operations.  Where it conflicts with an instruction of another unit, the later
 * one pops a token that the earlier one pushes, unless an earlier token implies it.
 */

#ifndef VTA_STREAM_H
#define VTA_STREAM_H

#include <glow/base.h>

#include "machine.h"

typedef struct vta_stream vta_stream;

typedef enum vta_tokens {
    VTA_OVERLAP, /* where instructions conflict */
    VTA_SERIAL,  /* an instruction waits for all before it of other units */
    VTA_GIVEN,   /* by vta_stream_token alone */
} vta_tokens;

/* Micro-operations will be in DRAM from byte `uops_at` on, a multiple of 4. */
vta_stream *vta_stream_new(glow_arena *a, const vta_config *c, int64_t uops_at,
                           vta_tokens tokens);
void vta_stream_add(vta_stream *s, vta_instruction i);
int64_t vta_stream_count(const vta_stream *s);
/* Lets instruction `i` pop, or push, a token from, or to, the next or previous unit. */
void vta_stream_token(vta_stream *s, int64_t i, bool pops, bool next);
bool vta_stream_pushes(const vta_stream *s, int64_t i, bool next);
/* The scratchpad index of micro-operations, which are loaded if they are not there. */
int64_t vta_stream_uops(vta_stream *s, const vta_uop *u, int64_t n);
/*
 * Until vta_stream_play, instructions are not added, and micro-operations are noted: play
 * loads them all by one transfer, for the same instructions to come.
 */
void vta_stream_record(vta_stream *s);
void vta_stream_play(vta_stream *s);
/* Adds the end; returns the words. */
const vta_word *vta_stream_end(vta_stream *s, int64_t *count);
const uint32_t *vta_stream_table(const vta_stream *s, int64_t *count);
/* True once an instruction did not fit its fields. */
bool vta_stream_failed(const vta_stream *s);

#endif

/*
 * Timelines: the buffers of a function, the steps that use them, and the live
 * bytes during each step.  Memory maps and explanations of the peak read them.
 *
 * A step is an instruction that computes, or a node of a scheduled graph;
 * instructions that only allocate, free or view a buffer are none.
 */

#ifndef IRGEN_REPORT_TIMELINE_H
#define IRGEN_REPORT_TIMELINE_H

#include "glow/family.h"
#include "glow/graph.h"

#define GLOW_NO_STEP UINT32_MAX

typedef struct glow_timeline_use {
    uint32_t step;
    bool reads, writes;
} glow_timeline_use;

typedef struct glow_timeline_buffer {
    const glow_node *node; /* alloc or weight; in a graph the defining node */
    const char *name;      /* of the value */
    const glow_type *type;
    int64_t size, offset;
    uint32_t from, to; /* live during the steps from <= s < to */
    const glow_timeline_use *uses;
    uint32_t n_uses; /* ascending by step, one for each */
} glow_timeline_buffer;

/* A region; in a graph, all results. */
typedef struct glow_timeline_space {
    const char *name;
    const glow_region *region; /* NULL: a graph */
    glow_timeline_buffer *buffers;
    uint32_t n_buffers;
    bool shared;      /* buffers share it over time */
    int64_t *live;    /* by step: live bytes during it */
    int64_t peak;     /* the end of the highest buffer; in a graph the bound */
    int64_t bound;    /* the most live bytes at one moment */
    uint32_t busiest; /* the first step with that many */
} glow_timeline_space;

typedef struct glow_timeline {
    const glow_func *f;
    glow_arena *arena;
    const glow_node **steps;
    uint32_t n_steps;
    glow_timeline_space *spaces;
    uint32_t n_spaces;
} glow_timeline;

/* Timeline of a placed program; buffers by offset, then by time.  Lives in `a`. */
glow_timeline *glow_timeline_of(glow_arena *a, glow_func *f);

/* The first step that writes the buffer, or the last such step up to `step`. */
uint32_t glow_timeline_maker(const glow_timeline_buffer *b);
uint32_t glow_timeline_writer(const glow_timeline_buffer *b, uint32_t step);
/* The first step after `step` that uses the buffer; its last use. */
uint32_t glow_timeline_next(const glow_timeline_buffer *b, uint32_t step);
uint32_t glow_timeline_last(const glow_timeline_buffer *b);
bool glow_timeline_alive(const glow_timeline_buffer *b, uint32_t step);

/* The name of the node in the model, if known; else its own name. */
const char *glow_source_name(const glow_node *n);
/* "conv1", or "conv1 -> relu1" where another step writes it last. */
const char *glow_buffer_label(const glow_timeline *t,
                              const glow_timeline_buffer *b);
/* The kind of a buffer: "weight", "io", or the family of its operator. */
const char *glow_buffer_family(const glow_timeline *t,
                               const glow_timeline_buffer *b);

/* "512 B", "6.89 MiB"; and "7,225,344". */
void glow_buf_bytes(glow_buf *b, int64_t bytes);
void glow_buf_grouped(glow_buf *b, int64_t n);
/* glow_buf_bytes as text, in `a`. */
const char *glow_bytes_text(glow_arena *a, int64_t bytes);

#endif

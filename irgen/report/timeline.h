/*
 * What is in memory when: the buffers of a function, the steps that use them,
 * and the bytes alive during each step.  What memory maps print and the peak is
 * explained by.
 *
 * A step is an instruction that computes, or a node of a scheduled graph; what
 * only makes or frees a buffer, or views one, is none.
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
    const glow_node *node; /* alloc or weight; of a graph what makes it */
    const char *name;      /* of the value */
    const glow_type *type;
    int64_t size, offset;
    uint32_t from, to; /* alive during the steps from <= s < to */
    const glow_timeline_use *uses;
    uint32_t n_uses; /* by step, one for each */
} glow_timeline_buffer;

/* A region, or of a graph all that its nodes make. */
typedef struct glow_timeline_space {
    const char *name;
    const glow_region *region; /* NULL: of a graph */
    glow_timeline_buffer *buffers;
    uint32_t n_buffers;
    bool shared;      /* buffers come and go */
    int64_t *live;    /* by step: the bytes alive during it */
    int64_t peak;     /* the end of the highest buffer; of a graph the bound */
    int64_t bound;    /* the most bytes alive at one moment */
    uint32_t busiest; /* the first step at which most bytes are alive */
} glow_timeline_space;

typedef struct glow_timeline {
    const glow_func *f;
    glow_arena *arena;
    const glow_node **steps;
    uint32_t n_steps;
    glow_timeline_space *spaces;
    uint32_t n_spaces;
} glow_timeline;

/* Of a placed program; buffers by offset, then by time.  Lives in `a`. */
glow_timeline *glow_timeline_of(glow_arena *a, glow_func *f);

/* The first step that writes the buffer, or the last one up to `step`. */
uint32_t glow_timeline_maker(const glow_timeline_buffer *b);
uint32_t glow_timeline_writer(const glow_timeline_buffer *b, uint32_t step);
/* The first step after `step` that uses it; the last of all. */
uint32_t glow_timeline_next(const glow_timeline_buffer *b, uint32_t step);
uint32_t glow_timeline_last(const glow_timeline_buffer *b);
bool glow_timeline_alive(const glow_timeline_buffer *b, uint32_t step);

/* What the node was in the model, as people know it; else its name. */
const char *glow_source_name(const glow_node *n);
/* "conv1", or "conv1 -> relu1" where the last to write it is another. */
const char *glow_buffer_label(const glow_timeline *t,
                              const glow_timeline_buffer *b);
/* The buffer's kind: "weight", "io", or the family of who makes it. */
const char *glow_buffer_family(const glow_timeline *t,
                               const glow_timeline_buffer *b);

/* "512 B", "6.89 MiB"; and "7,225,344". */
void glow_buf_bytes(glow_buf *b, int64_t bytes);
void glow_buf_grouped(glow_buf *b, int64_t n);
/* In `a`: glow_buf_bytes as text. */
const char *glow_bytes_text(glow_arena *a, int64_t bytes);

#endif

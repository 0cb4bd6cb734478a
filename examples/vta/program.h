/*
 * Programs of the accelerator in a placed function: a segment for each run of
 * instructions that it takes; the host runs all others between them.
 */

#ifndef VTA_PROGRAM_H
#define VTA_PROGRAM_H

#include "vta.h"

typedef struct vta_options {
    int64_t inp, wgt, acc, uop; /* bytes of scratchpads */
    float bytes_per_cycle;
    int setup, outstanding, depth;
    bool double_buffer;
    bool host;    /* may run operators that the accelerator does not take */
    int64_t seed; /* 0: timed; others: random orders of the queues */
} vta_options;

typedef struct vta_segment {
    const glow_node *first, *end; /* `end` is past it */
    const vta_word *words;
    int64_t count;
    int64_t uops_at; /* byte in DRAM */
    const uint32_t *uops;
    int64_t n_uops;
} vta_segment;

typedef struct vta_program {
    glow_func *func;
    vta_config config;
    vta_segment *segments;
    size_t count, room;
    int64_t dram_bytes;     /* buffers and micro-operations */
    const glow_node **left; /* units that no tile fits: the host runs them */
    size_t n_left, left_room;
} vta_program;

vta_config vta_config_of(const vta_options *o);
/* Byte offset of a value in DRAM. */
int64_t vta_offset(const glow_value *v);
/* True for the operators of this plugin. */
bool vta_is_unit(const glow_node *n);
/*
 * Encodes `f`; NULL after a report.  `apart`: a segment for each instruction, as if
 * it ran alone.
 */
vta_program *vta_program_new(glow_arena *a, glow_func *f, const vta_options *o,
                             const glow_target_options *t, bool apart);
/* True if a queue runs `n`. */
bool vta_is_queued(const glow_node *n);
/* Adds the words of instructions with queues up to `end`; false after a report. */
bool vta_encode_queues(vta_stream *s, const glow_node *first,
                       const glow_node *end);
/* True if the host is to run unit `n`. */
bool vta_is_left(const vta_program *p, const glow_node *n);
/* Constants and micro-operations, and poison everywhere else. */
bool vta_fill_dram(const vta_program *p, uint8_t *dram);

/* Memory of the device, and `run` of both backends, on which it works. */
extern const glow_backend_memory vta_dram;
bool vta_run(glow_executable *x, const glow_binding *bindings, int count);

/* The artifacts, of both backends, which have the same defaults of options. */
bool vta_emit(glow_func *f, const char *artifact, const glow_target_options *t,
              const char *path);
extern const glow_artifact vta_artifacts[];

#endif

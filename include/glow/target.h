/*
 * Targets as data: properties of a machine that passes may read.
 *
 *     {
 *       "name": "a microcontroller",
 *       "flops_per_second": 1.6e8,
 *       "bytes_per_second": 8e7,
 *       "seconds_per_node": 2e-6,
 *       "spaces": [
 *         {"name": "tcm", "size": 65536, "align": 8, "bank": 16384,
 *          "forbidden": [[0, 512]]},
 *         {"name": "sram", "size": 524288, "align": 32},
 *         {"name": "flash"}
 *       ],
 *       "constants": ["flash"],
 *       "placeholders": ["sram"],
 *       "activations": ["tcm", "sram"]
 *     }
 *
 * An accelerator has queues, which run instructions in order and beside one
 * another; links, by which a queue copies between two spaces; and units, which do
 * the work of an operator on buffers in given spaces:
 *
 *     "clock_hz": 1e8,
 *     "spaces": [{"name": "dram", "host": true},
 *                {"name": "in", "size": 32768, "element": 16,
 *                 "read_bytes_per_cycle": 16}, ...],
 *     "queues": [{"name": "load", "depth": 512}, {"name": "compute"}],
 *     "links": [{"queue": "load", "from": "dram", "to": "in",
 *                "bytes_per_cycle": 8, "setup": 100, "dims": 2, "pad": true,
 *                "outstanding": 4}],
 *     "tokens": [["load", "compute"], ["compute", "load"]],
 *     "units": [{"queue": "compute", "op": "acme.Conv",
 *                "operands": {"Input": "in", "Result": "acc"},
 *                "tile": [1, 1, 16], "per_cycle": 256}]
 *
 * Members left out have the values of glow_target_default; others than these
 * are errors.
 */

#ifndef GLOW_TARGET_H
#define GLOW_TARGET_H

#include "glow/diag.h"
#include "glow/op.h"
#include "glow/place.h"

GLOW_BEGIN

/* A memory of the machine. */
typedef struct glow_space {
    const char *name;
    int64_t align; /* of every buffer in it: a power of two; 0: unspecified */
    glow_place_space place; /* capacity and forbidden ranges */
    int64_t element; /* bytes that one address stands for: a power of two, which
                        offsets are multiples of; 0: 1 */
    double read_bytes_per_cycle;  /* by a unit; 0: no limit */
    double write_bytes_per_cycle; /* the same */
    bool is_host; /* where weights, inputs and outputs are: no scratchpad */
} glow_space;

/* Classes of buffers. */
typedef enum glow_buffer_class {
    GLOW_CONSTANTS,
    GLOW_PLACEHOLDERS,
    GLOW_ACTIVATIONS,
    GLOW_SCRATCH, /* of kernels; if unspecified, as activations */
    GLOW_BUFFER_CLASSES
} glow_buffer_class;

/* "constants", "placeholders", "activations", "scratch". */
extern GLOW_API const char *const glow_buffer_classes[];

/* Spaces allowed for a class: indices, in order of preference. */
typedef struct glow_homes {
    const size_t *at;
    size_t count;
} glow_homes;

/* An engine: instructions of one queue run in their order, one at a time. */
typedef struct glow_queue {
    const char *name;
    int64_t depth; /* instructions that wait in it, at most; 0: any number */
} glow_queue;

/* A way to copy, by commands of a queue. */
typedef struct glow_link {
    size_t queue; /* index in `queues`, as the next two in `spaces` */
    size_t from, to;
    double bytes_per_cycle;
    int64_t
        setup; /* cycles between the start of a command and its first byte */
    int64_t
        dims; /* axes of the box that one command moves: 1 is a run of bytes,
                      2 rows at equal distances */
    bool pad; /* a command may surround the box with zeros (Pad) */
    int64_t outstanding; /* commands at once; 1: one after another */
    const char *port; /* links of one port move bytes one after another; NULL: a
                            port of its own */
} glow_link;

/* Instructions of queue `from` may let queue `to` wait for them. */
typedef struct glow_token {
    size_t from, to; /* indices in `queues` */
} glow_token;

/* The space in which a unit has an operand or a result. */
typedef struct glow_unit_operand {
    const char *name; /* of the operator's schema */
    size_t space;
} glow_unit_operand;

/* Hardware for an operator. */
typedef struct glow_unit {
    const char *op; /* its name */
    size_t queue;
    const glow_unit_operand *operands; /* those left out may be anywhere */
    size_t n_operands;
    const int64_t
        *tile; /* by axis of the operator's iteration space (tiling.h):
                            it works on multiples; axes left out: 1 */
    size_t n_tile;
    double per_cycle; /* work (tiling.h) in a cycle */
    int64_t setup;    /* cycles of an instruction before the first of it */
} glow_unit;

typedef struct glow_target {
    const char *name;
    double flops_per_second;  /* of float, at most */
    double bytes_per_second;  /* to and from memory */
    double seconds_per_node;  /* to begin one */
    const glow_space *spaces; /* none: one without end for each class */
    size_t n_spaces;
    glow_homes homes[GLOW_BUFFER_CLASSES]; /* if there are spaces */
    double clock_hz;                       /* cycles in a second; 0: unknown */
    const glow_queue *queues; /* none: all instructions run one after another */
    size_t n_queues;
    const glow_link *links;
    size_t n_links;
    const glow_token *tokens; /* none: any queue may wait for any */
    size_t n_tokens;
    const glow_unit *units;
    size_t n_units;
} glow_target;

/* A core of a present server. */
extern GLOW_API const glow_target glow_target_default;

/* Reads a target file.  NULL after a report (E0417); lives in `a`. */
GLOW_API const glow_target *glow_target_read(glow_context *ctx, glow_arena *a,
                                             const glow_source *source);

/* Adds a description of all members to `b`, a line for each part. */
GLOW_API void glow_target_text(glow_buf *b, const glow_target *t);

/* By name; NULL: there is none.  The name may be NULL. */
GLOW_API const glow_space *glow_target_space(const glow_target *t,
                                             const char *name);
GLOW_API const glow_queue *glow_target_queue(const glow_target *t,
                                             const char *name);
/* The unit for an operator; NULL: there is none. */
GLOW_API const glow_unit *glow_target_unit(const glow_target *t,
                                           const glow_op *op);
/* The link between two spaces; NULL: there is none. */
GLOW_API const glow_link *glow_target_link(const glow_target *t,
                                           const glow_space *from,
                                           const glow_space *to);
/* The space of operand or result `name`; NULL: it may be anywhere. */
GLOW_API const glow_space *
glow_unit_space(const glow_target *t, const glow_unit *u, const char *name);

GLOW_END

#endif

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
 * Members left out have the values of glow_target_default; others than these
 * are errors.
 */

#ifndef GLOW_TARGET_H
#define GLOW_TARGET_H

#include "glow/diag.h"
#include "glow/place.h"

GLOW_BEGIN

/* A memory of the machine. */
typedef struct glow_space {
    const char *name;
    int64_t align; /* of every buffer in it: a power of two; 0: unspecified */
    glow_place_space place; /* capacity and forbidden ranges */
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

typedef struct glow_target {
    const char *name;
    double flops_per_second;  /* of float, at most */
    double bytes_per_second;  /* to and from memory */
    double seconds_per_node;  /* to begin one */
    const glow_space *spaces; /* none: one without end for each class */
    size_t n_spaces;
    glow_homes homes[GLOW_BUFFER_CLASSES]; /* if there are spaces */
} glow_target;

/* A core of a present server. */
extern GLOW_API const glow_target glow_target_default;

/* Reads a target file.  NULL after a report (E0417); lives in `a`. */
GLOW_API const glow_target *glow_target_read(glow_context *ctx, glow_arena *a,
                                             const glow_source *source);

GLOW_END

#endif

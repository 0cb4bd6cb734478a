/*
 * Targets as data: what a pass may know of the machine that code is made for.
 *
 *     {
 *       "name": "one core with AVX-512",
 *       "flops_per_second": 1.2e11,
 *       "bytes_per_second": 1.2e10,
 *       "seconds_per_node": 2e-7
 *     }
 *
 * Members left out have the values of glow_target_default; others than these
 * are errors.
 */

#ifndef GLOW_TARGET_H
#define GLOW_TARGET_H

#include "glow/diag.h"

GLOW_BEGIN

typedef struct glow_target {
    const char *name;
    double flops_per_second; /* of float, at most */
    double bytes_per_second; /* to and from memory */
    double seconds_per_node; /* to begin one */
} glow_target;

/* A core of a present server. */
extern GLOW_API const glow_target glow_target_default;

/* Reads a target file.  NULL after a report (E0417); lives in `a`. */
GLOW_API const glow_target *glow_target_read(glow_context *ctx, glow_arena *a,
                                             const glow_source *source);

GLOW_END

#endif

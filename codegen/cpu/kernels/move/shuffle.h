/* Shuffles of vectors. */

#ifndef CODEGEN_CPU_KERNELS_MOVE_SHUFFLE_H
#define CODEGEN_CPU_KERNELS_MOVE_SHUFFLE_H

#include "codegen/cpu/emit/gen.h"

#define CPU_MOST_LANES 64 /* of a vector that is shuffled */
#define CPU_CHUNK \
    4 /* lanes of 128 bits, which shuffle at once on all targets */

/*
 * Interleaves `n` vectors: lane 0 of all, lane 1 of all, ...  If they have `n`
 * lanes, up to CPU_MOST_LANES, this is a transpose.
 */
void glow_cpu_interleave(cg *g, cg_value *v, int n);

/* Lane i of the result is lane from[i] of `a` and then `b`, or of `a` where that is
   NULL. */
cg_value glow_cpu_shuffle(cg *g, cg_value a, cg_value b, const int *from,
                          int lanes);
/* a[0] b[0] a[1] b[1] of the lower or the upper half of each chunk. */
cg_value glow_cpu_zip_chunks(cg *g, cg_value a, cg_value b, bool upper);
/* `lanes` lanes of `v` from lane `first` on; a scalar where it is one. */
cg_value glow_cpu_some_lanes(cg *g, cg_value v, int first, int lanes);
/* The sums of the lanes of CPU_CHUNK vectors of floats, as CPU_CHUNK lanes. */
cg_value glow_cpu_add_lanes(cg *g, cg_value const *v);

#endif

/*
 * Kernels that move elements, split over threads: the units are the first axes
 * of the result, as far as all operands are indexed by them too.  Without a
 * split these axes are loops like the others.
 */

#ifndef CODEGEN_CPU_KERNELS_MOVE_OUTER_H
#define CODEGEN_CPU_KERNELS_MOVE_OUTER_H

#include "codegen/cpu/kernels/common.h"

/*
 * Returns the number of axes, `axes` or 0, that are the units of `j`: 0 unless
 * it is split.
 */
int glow_cpu_outer_axes(const cpu_job *j, int axes);
/*
 * Begins loops over the first `axes` axes of the result; glow_cg_nest_end ends
 * them.
 */
void glow_cpu_outer_begin(cpu_job *j, cg_nest *n, int axes);
/* The slice of `t` at indices `at` of its first axes. */
cg_tensor glow_cpu_outer_part(cpu_job *j, cg_tensor t, cg_value const *at,
                              int axes);
/* `d` without its first axes. */
glow_dims glow_cpu_behind(glow_dims d, int axes);

#endif

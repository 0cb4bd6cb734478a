/*
 * Convolutions and products of few outputs as dot products, by the tiles of others.
 *
 * A vector of outputs would be mostly empty: of 3 outputs 13 of 16 lanes.  So a sum has
 * a vector for itself, whose lanes are parts of the depth: each vector of input, as it
 * lies in memory, is multiplied by one of weights for each output.  The lanes are added
 * up in the end, four sums at a time.
 */

#ifndef CODEGEN_CPU_KERNELS_DOTS_H
#define CODEGEN_CPU_KERNELS_DOTS_H

#include "codegen/cpu/kernels/direct/direct.h"

/* `d`, of float, with the depth counted in vectors where that is worth it. */
cpu_direct glow_cpu_with_dots(const cpu_target *t, cpu_direct d);
/* Cycles of such sums, of which the cache holds the weights. */
double glow_cpu_dot_cycles(const cpu_target *t, const cpu_direct *d);

/*
 * Packs the weights of one tap and vector of the depth, of which `live` lanes are, for
 * all outputs: [output][lane].
 */
void *glow_cpu_pack_dots(const cpu_direct *d, const cpu_filter *src, int64_t at,
                         int64_t live, int64_t first, int64_t end, void *to);

/* Adds up sum[row * outputs + output], and hands rows on from `at` on. */
void glow_cpu_finish_dots(cpu_job *j, const cpu_direct *d, cpu_place at,
                          int rows, cg_value const *sum);

#endif

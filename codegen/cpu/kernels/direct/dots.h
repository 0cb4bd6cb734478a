/*
 * Convolutions and products of few outputs as dot products, by the same
 * register tiles.
 *
 * A vector of outputs would be mostly empty: of 3 outputs 13 of 16 lanes.  So
 * each sum is a vector, whose lanes are parts of the depth: each vector of
 * input is multiplied by one vector of weights for each output.  The lanes are
 * added up in the end, four sums at a time.
 */

#ifndef CODEGEN_CPU_KERNELS_DOTS_H
#define CODEGEN_CPU_KERNELS_DOTS_H

#include "codegen/cpu/kernels/direct/direct.h"

/*
 * Returns `d`, of float, with a depth of vectors if dot products are faster,
 * else unchanged.
 */
cpu_direct glow_cpu_with_dots(const cpu_target *t, cpu_direct d);
/* Cycles of dot products whose weights are cached. */
double glow_cpu_dot_cycles(const cpu_target *t, const cpu_direct *d);

/*
 * Packs the weights of one tap and one vector of the depth, with `live` lanes,
 * for all outputs: [output][lane].
 */
void *glow_cpu_pack_dots(const cpu_direct *d, const cpu_filter *src, int64_t at,
                         int64_t live, int64_t first, int64_t end, void *to);

/*
 * Adds up the lanes of sum[row * outputs + output], and passes rows from `at`
 * on to glow_cpu_finish.
 */
void glow_cpu_finish_dots(cpu_job *j, const cpu_direct *d, cpu_place at,
                          int rows, cg_value const *sum);

#endif

/*
 * Products and convolutions of 16-bit kinds, by the register tiles of float.
 *
 * bfloat16 is multiplied in pairs along the depth on targets that can: a pair
 * of input is one word, broadcast, and a pair of weights is one word in each
 * lane, so all but the multiplication is as with half as many floats.
 *
 * Otherwise weights stay 16 bits in memory, because products of few rows are
 * bound by its bandwidth, and are converted to float as they are loaded, once
 * for all rows of a tile.  The lines of input of a block are converted to float
 * first, in scratch, because a conversion for each broadcast would take longer
 * than its multiplications.
 *
 * Weights that are no constants are packed as float at run time, and the whole input is
 * converted before: one pass over it, where the sums read it for each panel of outputs.
 *
 * Sums are float either way, and rounded once, at the end.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_NARROW_H
#define CODEGEN_CPU_KERNELS_DIRECT_NARROW_H

#include "codegen/cpu/emit/narrow.h"
#include "codegen/cpu/kernels/direct/direct.h"

/*
 * Returns `d` with the form of its sums chosen; the depth is counted in pairs
 * for CPU_PAIRS.
 */
cpu_direct glow_cpu_with_numbers(const cpu_target *t, cpu_direct d);
/* Bytes of an element of the depth in the input; of a weight. */
int64_t glow_cpu_depth_size(const cpu_direct *d);
int64_t glow_cpu_weight_size(const cpu_direct *d);

/*
 * Packs outputs `first` to `end` at one tap and element of the depth, which begins
 * at `at`; the second number of a pair is `second` elements behind, 0: none.
 */
void *glow_cpu_pack_narrow(const cpu_direct *d, const cpu_filter *src,
                           int64_t at, int64_t second, int64_t first,
                           int64_t end, void *to);

/* A pair at `at`, as the bits of a float; `half`: of its first number and 0. */
cg_value glow_cpu_load_pair(cg *g, cg_value at, bool half);

/*
 * Converts the lines of input of lines `first` to `end` of the result to float,
 * in scratch.  Returns the address that line 0 of the image would have there.
 */
cg_value glow_cpu_widen_lines(cpu_job *j, const cpu_direct *d, cg_value batch,
                              cg_value first, cg_value end);

/*
 * A job whose input is converted at the beginning of the scratch of `j` where
 * glow_cpu_turns_narrow holds; the bytes of both, where the rest needs `room`.
 */
cpu_job glow_cpu_with_wide_input(const cpu_job *j);
int64_t glow_cpu_wide_room(const glow_node *n, int64_t room);

#endif

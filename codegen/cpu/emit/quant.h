/*
 * Arithmetic of quantized elements in generated code, by the rules of
 * glow/quantize.h: the same bits on every target.
 *
 * Elements are integers of their stored type.  Rounding adds a number so large that
 * the fraction is rounded off, ties to even, which every target does alike and
 * without a library; what is beyond the kind was clamped before.  Whole vectors of 8
 * bits are converted and saturated by instructions of x86 where it has them.
 */

#ifndef CODEGEN_CPU_EMIT_QUANT_H
#define CODEGEN_CPU_EMIT_QUANT_H

#include "codegen/cpu/emit/gen.h"

/* True if all of these have 8 or 16 bits, so that arithmetic is of float. */
bool glow_cg_is_short(const glow_type *t);

/*
 * True if elements of 8 or 16 bits are the same after Dequantize and Quantize to their
 * own type: no infinity and no 0 comes between.
 */
bool glow_cg_is_plain_grid(const glow_type *t);

/* (double)q - offset of elements `q` of `from`, as `real`, float or double. */
cg_value glow_cg_centered(cg *g, const glow_type *from, cg_value q,
                          LLVMTypeRef real);
/* The elements of `to` for `x`, floats or doubles in units of its scale. */
cg_value glow_cg_round_to(cg *g, const glow_type *to, cg_value x);
/* The same for `x` without NaN. */
cg_value glow_cg_round_number(cg *g, const glow_type *to, cg_value x);

/*
 * x86 packs vectors of 32 bits as elements of 8 bits by instructions that saturate.
 * True if the target is such:
 */
bool glow_cg_packs_units(const cg *g);
/* rint(x) as i32, of floats without NaN; beyond 16 bits, any such number of that sign. */
cg_value glow_cg_units(cg *g, cg_value x);
/* Two vectors of units in 16 bits, interleaved within each 16 bytes, and the offset. */
cg_value glow_cg_pack_units(cg *g, const glow_type *to, cg_value a, cg_value b);
/* Four vectors that were packed twice, in their order: 4 bytes of each are in each 16. */
cg_value glow_cg_in_order(cg *g, cg_value v);
/* Lanes `first` to `first` + `count` of a vector. */
cg_value glow_cg_lanes_of(cg *g, cg_value v, int first, int count);

/* glow_dequantize: floats. */
cg_value glow_cg_dequantize(cg *g, const glow_type *from, cg_value q);
/* glow_quantize of reals `v`, floats or doubles. */
cg_value glow_cg_quantize(cg *g, const glow_type *to, cg_value v);

/*
 * Sums of elements, exact: the integers of a lane that holds the sum of `count`
 * elements of `from`, signed or not as the kind is; 0 bits: too many for any.
 */
int glow_cg_sum_bits(const glow_type *from, int64_t count);
/*
 * The elements of `to` for sums of `count` elements of `from`, divided by `divisor`;
 * both counts are i64.
 */
cg_value glow_cg_mean(cg *g, const glow_type *from, const glow_type *to,
                      cg_value sum, cg_value count, cg_value divisor);

/* `v`, float or double, converted to `real`. */
cg_value glow_cg_as_real(cg *g, cg_value v, LLVMTypeRef real);

#endif

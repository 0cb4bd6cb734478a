/*
 * The arithmetic of quantized elements, which every backend repeats bit for bit.
 *
 * The element q of a quantized type stands for the real scale * (q - offset).  The
 * result of a quantized operator is the real function of the real operands, rounded
 * once to the type of the result, ties to even, held to its range:
 *
 *     q = sat(rint(x) + offset)     x: the result in units of its scale
 *
 * The offset is added after rounding, as an integer.  NaN gives the offset, and
 * infinities the ends of the range.  Where the result has 8 or 16 bits, x is a float
 * that is made by single operations of float, never by a fused multiply-add:
 *
 *     sums of products   (float)sum * M        sum: exact, bias included; 32 bits,
 *                                          or 64 where an operand has 16
 *     rescaling          (float)(q - offset) * M
 *     Add, Sub           (float)a * Ma + (float)b * Mb     a, b: less their offsets
 *     Mul                (float)(a * b) * M
 *     from floats        real / scale
 *
 * M is a quotient of scales, made in double and rounded to float once.  Results of 32
 * or 64 bits are made in double in the same way.  A table of an operator of one
 * operand has the results of `eval` in double.
 */

#ifndef GLOW_QUANTIZE_H
#define GLOW_QUANTIZE_H

#include "glow/type.h"

GLOW_BEGIN

/* The least and the largest element of a quantized kind. */
GLOW_API int64_t glow_quantized_least(glow_kind kind);
GLOW_API int64_t glow_quantized_most(glow_kind kind);
/* The elements of a quantized kind of 8 or 16 bits: 256, 65,536; else 0. */
GLOW_API int64_t glow_quantized_values(glow_kind kind);

/* `x`, in units of the scale of `to`, rounded: sat(rint(x) + offset). */
GLOW_API int64_t glow_quantized_round(const glow_type *to, double x);
/* The element of `to` for the real `v`: of 8 or 16 bits in float, else double. */
GLOW_API int64_t glow_quantize(const glow_type *to, double v);
/* scale * (q - offset) of an element `q` of `from`: the float, as a double. */
GLOW_API double glow_dequantize(const glow_type *from, int64_t q);
/* The element of `to` for the element `q` of `from`: RescaleQuantized. */
GLOW_API int64_t glow_rescale(const glow_type *from, const glow_type *to,
                              int64_t q);

/*
 * The element of `to` for a sum of products in units of `unit`, the product of
 * the scales: of 8 or 16 bits (float)sum * M, else in double.
 */
GLOW_API int64_t glow_quantize_sum(const glow_type *to, int64_t sum,
                                   double unit);
/*
 * A bias scale * (q - offset) as a term of such a sum: RescaleQuantized to
 * i32[S:(float)unit O:0].
 */
GLOW_API int64_t glow_quantize_bias(double scale, int64_t offset, int64_t q,
                                    double unit);

/* The factor (float)(from / to) of two scales, or products of scales. */
GLOW_API float glow_scale_ratio(double from, double to);

GLOW_END

#endif

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

#include "glow/tensor.h"

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

/* Parameters from ranges: passes/quantization.c. */

/* Glow's schemas, in the order of glow_quantization_schemas. */
typedef enum glow_quantization_schema {
    GLOW_ASYMMETRIC,           /* both ends of the range are ends of the kind */
    GLOW_SYMMETRIC,            /* the offset is 0 */
    GLOW_SYMMETRIC_WITH_UINT8, /* ... or, where nothing is negative, the least
                                  element */
    GLOW_SYMMETRIC_WITH_POWER2_SCALE, /* ... and the scale a power of two */
} glow_quantization_schema;

/* Their words, for options; ended by NULL. */
extern GLOW_API const char *const glow_quantization_schemas[];

/*
 * Sets scale and offset of `to`, whose kind is given, for reals from `min` to `max`.
 * The range is widened to hold 0, which is then exact; where it is 0 alone the scale
 * is 0.1; a scale below the least normal float becomes that.  i32 is used up to 30
 * bits.  Returns NULL, or a sentence in `a` that says why there are no parameters:
 * `to` is unchanged then.
 */
GLOW_API const char *glow_quantization_of(glow_type *to,
                                          glow_quantization_schema schema,
                                          double min, double max,
                                          glow_arena *a);

/*
 * The scale of weights of the kind `kind`, whose offset is 0: `largest`, the largest
 * absolute value, is the largest element (127 of i8).  For elements of Input of scale
 * `input`, and a bias of absolute value up to `bias`, it is raised until the bias takes
 * 30 bits in units of input * scale.  0 and 0 give 0.1.  The schema decides whether it
 * is raised to a power of two.
 */
GLOW_API float glow_quantization_of_weights(glow_kind kind,
                                            glow_quantization_schema schema,
                                            double largest, double input,
                                            double bias);

/*
 * Rows of the fused kinds (ui8fused and others): the last axis counts bytes, which
 * are the columns, of 8 bits or, two in a byte, the even column in its low bits, of
 * 4; then the tail of the row, its scale and its offset, both float or both float16
 * in the byte order of the machine.  A column q stands for scale * q + offset.
 */

/* Bytes of the tail; 0 of kinds that are not fused. */
GLOW_API int glow_fused_tail(glow_kind kind);
/* Columns of a row; -1: the type is not fused, or a row is shorter than its tail. */
GLOW_API int64_t glow_fused_columns(const glow_type *t);
/* Reads the columns of row `row`, rows counted over all leading axes. */
GLOW_API void glow_fused_load(const glow_tensor *t, int64_t row, double *v);
/*
 * Writes them: the offset is the least of them, the scale (most - least) / 255, or
 * 15 of 4 bits, in float; 1 where it is 0 in the kind of the tail; q = rint((v -
 * offset) / scale), held to the range.  NaN is written as the offset.
 */
GLOW_API void glow_fused_store(const glow_tensor *t, int64_t row,
                               const double *v);

GLOW_END

#endif

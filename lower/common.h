/* Helpers of lowering rules: splats, slices, and arithmetic with numbers. */

#ifndef LOWER_COMMON_H
#define LOWER_COMMON_H

#include "glow/arith.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* A tensor of `type` whose elements are all `v`, as near as its kind allows. */
glow_value *glow_lower_splat(glow_builder *b, const glow_type *type, double v);
/* The same for an integer kind, exactly. */
glow_value *glow_lower_splat_int(glow_builder *b, const glow_type *type,
                                 int64_t v);
/* `v` with axis i at axis `axis` + i of `shape`, repeated along the others. */
glow_value *glow_lower_spread(glow_builder *b, glow_value *v, int axis,
                              glow_dims shape);
/* `v` converted to `kind`; returns `v` if it has this kind. */
glow_value *glow_lower_convert(glow_builder *b, glow_value *v, glow_kind kind);

/*
 * Elements [start, start + size) of `axis`; returns `v` if this is the whole
 * axis.
 */
glow_value *glow_lower_cut(glow_builder *b, glow_value *v, int axis,
                           int64_t start, int64_t size);

/* `y` where x is not below 0, else -y. */
glow_value *glow_lower_signed(glow_builder *b, glow_value *x, glow_value *y);
/* x < y for a number y; x is a dense value. */
glow_value *glow_lower_below(glow_builder *b, glow_value *x, double y);
/*
 * max(x, least), for the product of `x` and a gate that is 0 below `least`,
 * because 0 times -inf would be NaN.
 */
glow_value *glow_lower_gated(glow_builder *b, glow_value *x, double least);
/* min(max(x, -most), most). */
glow_value *glow_lower_bounded(glow_builder *b, glow_value *x, double most);
/* x + y, x * y and x ** y for a number y. */
glow_value *glow_lower_plus(glow_builder *b, glow_value *x, double y);
glow_value *glow_lower_times(glow_builder *b, glow_value *x, double y);
glow_value *glow_lower_pow(glow_builder *b, glow_value *x, double y);
/*
 * True for the floats of 16 bits: a sum of them soon overflows, and is computed
 * in float.
 */
bool glow_lower_is_short(glow_kind kind);
/*
 * x / y; reduce-strength turns it into a product where this is exact or
 * permitted.
 */
glow_value *glow_lower_by(glow_builder *b, glow_value *x, double y);
/* The same with a number on the left. */
glow_value *glow_lower_from(glow_builder *b, double x, glow_value *y);
glow_value *glow_lower_over(glow_builder *b, double x, glow_value *y);

/*
 * Applies the addend (NULL: none) and the activation of a fused operator to
 * `sum`.
 */
glow_value *glow_lower_epilogue(glow_builder *b, glow_value *sum,
                                glow_value *addend, int activation,
                                glow_floats args);

/*
 * Bool: true where the remainder `r` of a division by `y` has the opposite sign
 * of `y`.
 */
glow_value *glow_lower_strays(glow_builder *b, glow_value *r, glow_value *y);

/* Log(1 + x), and Exp(x) - 1 for x <= 0, without cancelling near 0. */
glow_value *glow_lower_log1p(glow_builder *b, glow_value *x);
glow_value *glow_lower_expm1(glow_builder *b, glow_value *x);

extern const glow_pass glow_pass_lower_quantized;

#endif

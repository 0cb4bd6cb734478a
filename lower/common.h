/* What the rules share: small things to build. */

#ifndef LOWER_COMMON_H
#define LOWER_COMMON_H

#include "glow/ops.h"
#include "glow/pass.h"

/* A tensor of `type` whose elements are all `v`, as near as its kind allows. */
glow_value *glow_lower_splat(glow_builder *b, const glow_type *type, double v);
/* The same of an integer kind, exactly. */
glow_value *glow_lower_splat_int(glow_builder *b, const glow_type *type,
                                 int64_t v);
/* `v` with axis i at axis `axis` + i of `shape`, repeated along the others. */
glow_value *glow_lower_spread(glow_builder *b, glow_value *v, int axis,
                              glow_dims shape);
/* `v` with this shape: itself if it has it. */
glow_value *glow_lower_reshape(glow_builder *b, glow_value *v, glow_dims shape);
/* `v` with elements of `kind`: itself if it has them. */
glow_value *glow_lower_convert(glow_builder *b, glow_value *v, glow_kind kind);

/* Elements [start, start + size) of one axis: `v` if that is all of them. */
glow_value *glow_lower_cut(glow_builder *b, glow_value *v, int axis,
                           int64_t start, int64_t size);

/* The element-wise operators that the rules are made of. */
glow_value *glow_lower_add(glow_builder *b, glow_value *x, glow_value *y);
glow_value *glow_lower_sub(glow_builder *b, glow_value *x, glow_value *y);
glow_value *glow_lower_mul(glow_builder *b, glow_value *x, glow_value *y);
glow_value *glow_lower_div(glow_builder *b, glow_value *x, glow_value *y);
glow_value *glow_lower_sqrt(glow_builder *b, glow_value *x);
glow_value *glow_lower_log(glow_builder *b, glow_value *x);
glow_value *glow_lower_select(glow_builder *b, glow_value *cond, glow_value *x,
                              glow_value *y);
/* `y` where x is not below 0, else -y. */
glow_value *glow_lower_signed(glow_builder *b, glow_value *x, glow_value *y);
/* The same with a number on the right, and x < y; x is a dense value. */
glow_value *glow_lower_below(glow_builder *b, glow_value *x, double y);
/*
 * max(x, least), for the product of `x` and a gate that is 0 below `least`: 0 times
 * -inf would be NaN.
 */
glow_value *glow_lower_gated(glow_builder *b, glow_value *x, double least);
glow_value *glow_lower_plus(glow_builder *b, glow_value *x, double y);
glow_value *glow_lower_times(glow_builder *b, glow_value *x, double y);
glow_value *glow_lower_pow(glow_builder *b, glow_value *x, double y);
/* Does a sum in this kind soon leave its range?  Of 16 bits: make it in float. */
bool glow_lower_is_short(glow_kind kind);
/* x / y: reduce-strength makes a product of it where that may be. */
glow_value *glow_lower_by(glow_builder *b, glow_value *x, double y);
/* The same with a number on the left. */
glow_value *glow_lower_from(glow_builder *b, double x, glow_value *y);
glow_value *glow_lower_over(glow_builder *b, double x, glow_value *y);

/* What a fused operator does with its sum; NULL: no addend. */
glow_value *glow_lower_epilogue(glow_builder *b, glow_value *sum,
                                glow_value *addend, int activation,
                                glow_floats args);

/* Where the rest `r` of a division by `y` is on the other side of 0. */
glow_value *glow_lower_strays(glow_builder *b, glow_value *r, glow_value *y);

/* Log(1 + x), and Exp(x) - 1 for x <= 0, without cancelling near 0. */
glow_value *glow_lower_log1p(glow_builder *b, glow_value *x);
glow_value *glow_lower_expm1(glow_builder *b, glow_value *x);

#endif

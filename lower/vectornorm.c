/*
 * lower-vectornorm: a root of a sum of powers.
 *
 *     P 1:    %y = ReduceL1(%x) {Axes: [a]}
 *     P 2:    %y = ReduceL2(%x) {Axes: [a]}
 *     else:   %y = Pow(BatchedReduceAdd(Pow(|%x|, P)) {Axes: [a]}, 1 / P)
 *
 * Powers of 16-bit floats are computed in float, whose range is wider.  Above P 8, where
 * those of numbers far from 1 leave the range, %x is divided by its largest magnitude
 * first, which the root is multiplied by:
 *
 *     %m = Clip(BatchedReduceMax(|%x|) {Axes: [a]}) {Min: 2^-126, Max: the largest}
 *     %y = %m * Pow(BatchedReduceAdd(Pow(|%x| / Broadcast(%m), P)) {Axes: [a]}, 1 / P)
 */

#include <float.h>

#include "lower/common.h"

enum { MOST_PLAIN = 8 };

/* The root of the sum of powers of `x`, which has no sign. */
static glow_value *
root_of_powers(glow_builder *b, glow_value *x, glow_dims axes, int p)
{
    x = glow_lower_pow(b, x, p);
    x = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = axes);
    return glow_lower_pow(b, x, 1.0 / p);
}

static glow_value *
scaled_root(glow_builder *b, glow_value *x, glow_dims axes, int p)
{
    glow_dims shape = x->type->shape, one = shape;
    glow_value *most =
        GLOW_BUILD(b, batchedreducemax, GLOW_IN(x), .axes = axes);
    glow_value *each;

    most = GLOW_BUILD(b, clip, GLOW_IN(most), .min = FLT_MIN, .max = FLT_MAX);
    one.at[axes.at[0]] = 1;
    each = glow_lower_spread(b, glow_build_reshape(b, most, one), 0, shape);
    x = root_of_powers(b, glow_build_div(b, x, each), axes, p);
    return glow_build_mul(b, x, most);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_vectornorm *v = n->attrs;
    glow_dims axes = GLOW_DIMS_OF(v->axis);
    glow_value *x = n->in[0];
    glow_kind kind = x->type->elem;

    if (glow_lower_is_short(kind))
        x = glow_lower_convert(b, x, GLOW_FLOAT);
    if (v->p == 1)
        x = GLOW_BUILD(b, reducel1, GLOW_IN(x), .axes = axes);
    else if (v->p == 2)
        x = GLOW_BUILD(b, reducel2, GLOW_IN(x), .axes = axes);
    if (v->p <= 2)
        return glow_lower_convert(b, x, kind);
    x = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));
    x = v->p > MOST_PLAIN ? scaled_root(b, x, axes, v->p)
                          : root_of_powers(b, x, axes, v->p);
    return glow_lower_convert(b, x, kind);
}

const glow_pass glow_pass_lower_vectornorm = {
    .name = "lower-vectornorm",
    .summary = "express VectorNorm by Pow and BatchedReduceAdd",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_vectornorm,
    .rewrite = lower,
};

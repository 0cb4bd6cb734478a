/*
 * lower-vectornorm: a root of a sum of powers.
 *
 *     P 1:    %y = ReduceL1(%x) {Axes: [a]}
 *     P 2:    %y = ReduceL2(%x) {Axes: [a]}
 *     else:   %y = Pow(BatchedReduceAdd(Pow(|%x|, P)) {Axes: [a]}, 1 / P)
 *
 * Powers of 16-bit floats are computed in float, whose range is wider.
 */

#include "lower/common.h"

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
    x = glow_lower_pow(b, x, v->p);
    x = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = axes);
    return glow_lower_convert(b, glow_lower_pow(b, x, 1.0 / v->p), kind);
}

const glow_pass glow_pass_lower_vectornorm = {
    .name = "lower-vectornorm",
    .summary = "express VectorNorm by Pow and BatchedReduceAdd",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_vectornorm,
    .rewrite = lower,
};

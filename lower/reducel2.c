/*
 * lower-reducel2: the root of the sum of squares.
 *
 *     %y = Sqrt(BatchedReduceSumSquare(%x) {Axes: a})
 *
 * 16-bit floats are squared in float, whose range is wider.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_reduce *r = n->attrs;
    glow_value *x = n->in[0];
    glow_kind kind = x->type->elem;

    if (glow_lower_is_short(kind))
        x = glow_lower_convert(b, x, GLOW_FLOAT);
    x = GLOW_BUILD(b, batchedreducesumsquare, GLOW_IN(x), .axes = r->axes);
    return glow_lower_convert(b, glow_build_sqrt(b, x), kind);
}

const glow_pass glow_pass_lower_reducel2 = {
    .name = "lower-reducel2",
    .summary = "express ReduceL2 by BatchedReduceSumSquare and Sqrt",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_reducel2,
    .rewrite = lower,
};

/*
 * lower-batchedreducesumsquare: the sum of squares.
 *
 *     %y = BatchedReduceAdd(%x * %x) {Axes: a}
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
    x = glow_build_mul(b, x, x);
    x = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = r->axes);
    return glow_lower_convert(b, x, kind);
}

const glow_pass glow_pass_lower_batchedreducesumsquare = {
    .name = "lower-batchedreducesumsquare",
    .summary = "express BatchedReduceSumSquare by Mul and BatchedReduceAdd",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_batchedreducesumsquare,
    .rewrite = lower,
};

/*
 * lower-reducelogsum: the logarithm of a sum.
 *
 *     %y = Log(BatchedReduceAdd(%x) {Axes: a})
 *
 * 16-bit floats are added in float, because near 1 the rounding of the sum
 * would dominate its logarithm.
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
    x = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = r->axes);
    return glow_lower_convert(b, glow_build_log(b, x), kind);
}

const glow_pass glow_pass_lower_reducelogsum = {
    .name = "lower-reducelogsum",
    .summary = "express ReduceLogSum by BatchedReduceAdd and Log",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_reducelogsum,
    .rewrite = lower,
};

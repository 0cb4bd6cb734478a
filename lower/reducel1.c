/*
 * lower-reducel1: the sum of magnitudes.
 *
 *     %y = BatchedReduceAdd(Abs(%x)) {Axes: a}
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_reduce *r = n->attrs;
    glow_value *x = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(n->in[0]));

    return GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = r->axes);
}

const glow_pass glow_pass_lower_reducel1 = {
    .name = "lower-reducel1",
    .summary = "express ReduceL1 by Abs and BatchedReduceAdd",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_reducel1,
    .rewrite = lower,
};

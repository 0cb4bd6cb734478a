/*
 * lower-batchonehot: find the column of each value, and compare.
 *
 *     %y = BatchOneHot(%x : [B, D], %l, %v : [V])
 *         =>
 *     %e = CumSum(%l)                                ends of the columns
 *     %c = BatchedReduceAdd(CmpLTE([%e], [0 .. V])) {Axes: [0]}   : [V]
 *     %y = ConvertTo(CmpEQ(Gather(%x, %c) {Axis: 1}, [%v]))
 *
 * A value behind the end of the last column gets the column D, which Gather
 * refuses; [..]: Broadcast.
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int64_t columns = n->in[0]->type->shape.at[1];
    glow_dims y = n->out[0]->type->shape;
    glow_dims plane = GLOW_DIMS_OF(columns, y.at[1]);
    glow_value *ends = GLOW_BUILD(
        b, cumsum, GLOW_IN(glow_lower_convert(b, n->in[1], GLOW_INDEX64)),
        .dim = 0);
    glow_value *all =
        glow_lower_spread(b, glow_lower_iota(b, y.at[1], 1), 1, plane);

    ends = glow_lower_spread(b, ends, 0, plane);

    glow_value *over = GLOW_BUILD_PLAIN(b, cmplte, GLOW_IN(ends, all));
    glow_value *at = GLOW_BUILD(
        b, batchedreduceadd, GLOW_IN(glow_lower_convert(b, over, GLOW_INDEX64)),
        .axes = GLOW_DIMS_OF(0));
    glow_value *v = GLOW_BUILD(b, gather, GLOW_IN(n->in[0], at), .axis = 1);

    v = GLOW_BUILD_PLAIN(b, cmpeq,
                         GLOW_IN(v, glow_lower_spread(b, n->in[2], 1, y)));
    return glow_lower_convert(b, v, n->out[0]->type->elem);
}

const glow_pass glow_pass_lower_batchonehot = {
    .name = "lower-batchonehot",
    .summary = "express BatchOneHot by Gather and a comparison",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_batchonehot,
    .rewrite = lower,
};

/*
 * lower-rmsnormalization: write the formula out.
 *
 *     %y = RMSNormalization(%x, %s) {Axis: a, Epsilon: e}
 *         =>
 *     %v = BatchedReduceMean(%x * %x) {Axes: a, ..}
 *     %y = %x / [Sqrt(%v + e)] * [%s]              [..]: Broadcast to %x
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_rmsnormalization *r = n->attrs;
    glow_value *x = n->in[0], *square = glow_build_mul(b, x, x);
    glow_dims shape = x->type->shape, axes = {0};

    for (int i = r->axis; i < shape.rank; i++)
        axes.at[axes.rank++] = i;

    glow_value *v =
        GLOW_BUILD(b, batchedreducemean, GLOW_IN(square), .axes = axes);

    v = GLOW_BUILD_PLAIN(b, sqrt,
                         GLOW_IN(glow_lower_plus(b, v, (double)r->epsilon)));

    glow_value *y = glow_build_div(b, x, glow_lower_spread(b, v, 0, shape));

    if (n->in[1])
        y = glow_build_mul(b, y,
                           glow_lower_spread(b, n->in[1], r->axis, shape));
    return y;
}

const glow_pass glow_pass_lower_rmsnormalization = {
    .name = "lower-rmsnormalization",
    .summary = "express RMSNormalization by a mean and arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_rmsnormalization,
    .rewrite = lower,
    .source = "Zhang, Sennrich, arXiv:1910.07467",
};

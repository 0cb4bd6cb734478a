/*
 * lower-meanvarnormalization: write the formulas out.
 *
 *     %m1, %v1 = MeanVarNormalization(%x, %m, %v) {ChannelIdx: c, Momentum: p}
 *         =>
 *     %u = BatchedReduceMean(%x) {all axes but c}
 *     %d = %x - [%u]                               [..]: Broadcast to %x
 *     %w = BatchedReduceMean(%d * %d) {all axes but c}
 *     %m1 = %u * p + %m * (1 - p)
 *     %v1 = %w * p + %v * (1 - p)
 */

#include "lower/common.h"

static glow_value *
blend(glow_builder *b, glow_value *now, glow_value *old, double p)
{
    if (p == 1)
        return now;
    old = glow_lower_times(b, old, 1 - p);
    return glow_build_add(b, glow_lower_times(b, now, p), old);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_meanvarnormalization *m = n->attrs;
    glow_value *x = n->in[0], *mean, *d, *var;
    glow_dims shape = x->type->shape, axes = {0};
    double p = (double)m->momentum;

    for (int i = 0; i < shape.rank; i++)
        if (i != m->channel_idx)
            axes.at[axes.rank++] = i;
    mean = GLOW_BUILD(b, batchedreducemean, GLOW_IN(x), .axes = axes);
    d = glow_build_sub(b, x, glow_lower_spread(b, mean, m->channel_idx, shape));
    d = glow_build_mul(b, d, d);
    var = GLOW_BUILD(b, batchedreducemean, GLOW_IN(d), .axes = axes);
    glow_builder_replace(b, n, 0, blend(b, mean, n->in[1], p));
    glow_builder_replace(b, n, 1, blend(b, var, n->in[2], p));
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_meanvarnormalization = {
    .name = "lower-meanvarnormalization",
    .summary = "express MeanVarNormalization by means and arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_meanvarnormalization,
    .rewrite = lower,
};

/*
 * lower-meanvarnormalization: write the formulas out.
 *
 *     %m1, %v1 = MeanVarNormalization(%x, %m, %v) {ChannelIdx: c, Momentum: p}
 *         =>
 *     %u, %w = MeanVarNormalization(%x, %m, %v) {ChannelIdx: c, Momentum: 1}
 *     %m1 = %u * p + %m * (1 - p)
 *     %v1 = %w * p + %v * (1 - p)
 *
 * and where p is 1
 *
 *     %m1 = BatchedReduceMean(%x) {all axes but c}
 *     %d = %x - [%m1]                              [..]: Broadcast to %x
 *     %v1 = BatchedReduceMean(%d * %d) {all axes but c}
 *
 * A batch whose statistics are used and also blended with running ones so has them
 * computed once.
 */

#include "lower/common.h"

static glow_value *
blend(glow_builder *b, glow_value *now, glow_value *old, double p)
{
    old = glow_lower_times(b, old, 1 - p);
    return glow_build_add(b, glow_lower_times(b, now, p), old);
}

static void
lower_running(glow_builder *b, glow_node *n, double p)
{
    const glow_meanvarnormalization *m = n->attrs;
    glow_value *now = GLOW_BUILD(b, meanvarnormalization,
                                 GLOW_IN(n->in[0], n->in[1], n->in[2]),
                                 .channel_idx = m->channel_idx, .momentum = 1);

    for (int i = 0; now && i < 2; i++)
        glow_builder_replace(b, n, i,
                             blend(b, now->def->out[i], n->in[1 + i], p));
}

static void
lower_batch(glow_builder *b, glow_node *n)
{
    int c = ((const glow_meanvarnormalization *)n->attrs)->channel_idx;
    glow_value *x = n->in[0], *mean, *d;
    glow_dims shape = x->type->shape, axes = {0};

    for (int i = 0; i < shape.rank; i++)
        if (i != c)
            axes.at[axes.rank++] = i;
    mean = GLOW_BUILD(b, batchedreducemean, GLOW_IN(x), .axes = axes);
    d = glow_build_sub(b, x, glow_lower_spread(b, mean, c, shape));
    d = glow_build_mul(b, d, d);
    glow_builder_replace(b, n, 0, mean);
    glow_builder_replace(
        b, n, 1, GLOW_BUILD(b, batchedreducemean, GLOW_IN(d), .axes = axes));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    double p = (double)((const glow_meanvarnormalization *)n->attrs)->momentum;

    if (p == 1)
        lower_batch(b, n);
    else
        lower_running(b, n, p);
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

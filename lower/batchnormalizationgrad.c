/*
 * lower-batchnormalizationgrad: write the formulas out.
 *
 *     %dx, %ds, %db = BatchNormalizationGrad(%x, %s, %m, %v, %d) {ChannelIdx: c, Epsilon: e}
 *         =>
 *     %r = Sqrt(%v + e)                            one for each channel
 *     %z = %x - [%m]                               [..]: Broadcast to %x
 *     %db = BatchedReduceAdd(%d) {all axes but c}
 *     %ds = BatchedReduceAdd(%d * %z) {all axes but c} / %r
 *     %dx = (%d - [%db / n] - %z * [%ds / %r / n]) * [%s / %r]
 *
 * n is the number of elements of a channel.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_batchnormalizationgrad *a = n->attrs;
    glow_value *x = n->in[0], *d = n->in[4], *r, *z, *by_bias, *by_scale, *y;
    glow_dims shape = x->type->shape, axes = {0};
    int64_t count = glow_type_count(x->type);
    int c = a->channel_idx;
    double each = (double)(count ? count / shape.at[c] : 1);

    for (int i = 0; i < shape.rank; i++)
        if (i != c)
            axes.at[axes.rank++] = i;
    r = glow_build_sqrt(b, glow_lower_plus(b, n->in[3], (double)a->epsilon));
    z = glow_build_sub(b, x, glow_lower_spread(b, n->in[2], c, shape));
    by_bias = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(d), .axes = axes);
    y = glow_build_mul(b, d, z);
    by_scale = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(y), .axes = axes);
    by_scale = glow_build_div(b, by_scale, r);
    y = glow_lower_by(b, glow_build_div(b, by_scale, r), each);
    z = glow_build_mul(b, z, glow_lower_spread(b, y, c, shape));
    y = glow_lower_spread(b, glow_lower_by(b, by_bias, each), c, shape);
    y = glow_build_sub(b, glow_build_sub(b, d, y), z);
    r = glow_build_div(b, n->in[1], r);
    y = glow_build_mul(b, y, glow_lower_spread(b, r, c, shape));
    glow_builder_replace(b, n, 0, y);
    glow_builder_replace(b, n, 1, by_scale);
    glow_builder_replace(b, n, 2, by_bias);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_batchnormalizationgrad = {
    .name = "lower-batchnormalizationgrad",
    .summary = "express BatchNormalizationGrad by sums and arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_batchnormalizationgrad,
    .rewrite = lower,
    .source = "Ioffe, Szegedy, arXiv:1502.03167, section 3",
};

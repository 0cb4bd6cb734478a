/*
 * lower-batchnormalization: write the formula out.
 *
 *     %y = BatchNormalization(%x, %s, %b, %m, %v) {ChannelIdx: c, Epsilon: e}
 *         =>
 *     %r = %s / Sqrt(%v + e)                     one for each channel
 *     %y = (%x - [%m]) * [%r] + [%b]             [..]: Broadcast to %x
 *
 * The mean is taken off first: folding it into the bias would cost the digits
 * that %x and the mean have in common.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_batchnormalization *a = n->attrs;
    glow_dims shape = n->in[0]->type->shape;
    glow_value *spread = glow_lower_plus(b, n->in[4], (double)a->epsilon);

    spread = glow_build_sqrt(b, spread);

    glow_value *scale = glow_build_div(b, n->in[1], spread);
    glow_value *y = glow_build_sub(
        b, n->in[0], glow_lower_spread(b, n->in[3], a->channel_idx, shape));

    y = glow_build_mul(b, y,
                       glow_lower_spread(b, scale, a->channel_idx, shape));
    return glow_build_add(
        b, y, glow_lower_spread(b, n->in[2], a->channel_idx, shape));
}

const glow_pass glow_pass_lower_batchnormalization = {
    .name = "lower-batchnormalization",
    .summary = "express BatchNormalization by arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_batchnormalization,
    .rewrite = lower,
    .source = "Ioffe, Szegedy, arXiv:1502.03167, algorithm 2",
};

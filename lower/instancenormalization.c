/*
 * lower-instancenormalization: each channel is a group.
 *
 *     %y = InstanceNormalization(%x, %s, %b) {ChannelIdx: i}
 *         =>
 *     %y = GroupNormalization(%x, %s, %b) {ChannelIdx: i, Group: channels}
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_instancenormalization *i = n->attrs;
    int64_t channels = n->in[0]->type->shape.at[i->channel_idx];

    if (channels == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    return GLOW_BUILD(b, groupnormalization,
                      GLOW_IN(n->in[0], n->in[1], n->in[2]),
                      .channel_idx = i->channel_idx, .group = channels,
                      .epsilon = i->epsilon);
}

const glow_pass glow_pass_lower_instancenormalization = {
    .name = "lower-instancenormalization",
    .summary = "express InstanceNormalization by GroupNormalization",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_instancenormalization,
    .rewrite = lower,
};

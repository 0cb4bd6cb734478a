/*
 * lower-channelshuffle: a transpose of the groups.
 *
 *     %y = ChannelShuffle(%x : [2, 6, 5]) {Group: 3, Kernel: 1}
 *         =>
 *     %a = Reshape(%x)   : [2, 3, 2, 5]
 *     %b = Transpose(%a) : [2, 2, 3, 5]
 *     %y = Reshape(%b)   : [2, 6, 5]
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_channelshuffle *s = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    glow_dims parts = GLOW_DIMS_OF(glow_dims_product(x, 0, s->kernel), s->group,
                                   x.at[s->kernel] / s->group,
                                   glow_dims_product(x, s->kernel + 1, x.rank));
    glow_value *v = glow_build_reshape(b, n->in[0], parts);

    v = glow_lower_transpose(b, v, GLOW_DIMS_OF(0, 2, 1, 3));
    return glow_build_reshape(b, v, x);
}

const glow_pass glow_pass_lower_channelshuffle = {
    .name = "lower-channelshuffle",
    .summary = "express ChannelShuffle by Transpose",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_channelshuffle,
    .rewrite = lower,
    .source = "Rotem et al., Glow, ChannelShuffle",
};

/*
 * lower-groupnormalization: it is a normalization of rows, one for each group.
 *
 *     %y = GroupNormalization(%x, %s, %b) {ChannelIdx: 1, Group: g}
 *         =>
 *     %r = Reshape(%x) {Dims: [N, g, all others]}
 *     %n = Reshape(LayerNormalization(%r, _, _) {Axis: 2}) to %x
 *     %y = %n * [%s] + [%b]                        [..]: Broadcast to %x
 *
 * A channel axis that is not the second one is transposed there and back.
 */

#include "lower/common.h"

/* Axes with `channel` second, and the way back. */
static glow_dims
channel_second(int rank, int channel, bool back)
{
    glow_dims p = {.rank = rank};

    for (int i = 0; i < rank; i++) {
        int from = i == 0 ? 0 : i == 1 ? channel : i > channel ? i : i - 1;

        p.at[back ? from : i] = back ? i : from;
    }
    return p;
}

static glow_value *
moved(glow_builder *b, glow_value *v, int channel, bool back)
{
    if (channel == 1 || !v)
        return v;
    return GLOW_BUILD(b, transpose, GLOW_IN(v),
                      .shuffle =
                          channel_second(v->type->shape.rank, channel, back));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_groupnormalization *g = n->attrs;
    glow_value *x = moved(b, n->in[0], g->channel_idx, false), *y;
    glow_dims shape = x ? x->type->shape : (glow_dims){0};
    glow_dims rows = GLOW_DIMS_OF(shape.at[0], g->group, 1);

    for (int i = 1; i < shape.rank; i++)
        rows.at[2] *= i == 1 ? shape.at[i] / g->group : shape.at[i];
    y = GLOW_BUILD(b, layernormalization,
                   GLOW_IN(glow_build_reshape(b, x, rows), NULL, NULL),
                   .axis = 2, .epsilon = g->epsilon);
    y = glow_build_reshape(b, y, shape);
    y = glow_build_mul(b, y, glow_lower_spread(b, n->in[1], 1, shape));
    y = glow_build_add(b, y, glow_lower_spread(b, n->in[2], 1, shape));
    return moved(b, y, g->channel_idx, true);
}

const glow_pass glow_pass_lower_groupnormalization = {
    .name = "lower-groupnormalization",
    .summary = "express GroupNormalization by LayerNormalization of rows",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_groupnormalization,
    .rewrite = lower,
};

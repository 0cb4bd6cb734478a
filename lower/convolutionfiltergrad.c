/*
 * lower-convolutionfiltergrad: convolve Input by the gradient.
 *
 *     %g = ConvolutionFilterGrad(%x, %d) {Kernels: k, Strides: s, Dilation: t}
 *  =>
 *     %x' = Transpose(%x)                            [C, spatial.., N]
 *     %d' = Transpose(%d)                            [O, spatial.., N]
 *     %g' = Convolution(%x', %d', _) {Strides: t, Dilation: s}
 *     %g = Transpose(%g' as far as k)
 *
 * Samples take the place of channels, and channels that of samples; strides and
 * dilation change places.  Channels of a group are samples of a group.
 */

#include "lower/common.h"

static glow_value *
transpose(glow_builder *b, glow_value *v, glow_dims order)
{
    return GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = order);
}

static glow_dims
axes(int rank)
{
    glow_dims order = {.rank = rank};

    for (int k = 0; k < rank; k++)
        order.at[k] = k;
    return order;
}

/* The first axis behind the others, and the last before them. */
static glow_value *
exchange_ends(glow_builder *b, glow_value *v)
{
    glow_dims order = axes(v->type->shape.rank);

    order.at[0] = order.rank - 1;
    order.at[order.rank - 1] = 0;
    return transpose(b, v, order);
}

/* [N, spatial.., G C] as [C, spatial.., G N]. */
static glow_value *
channels_for_samples(glow_builder *b, glow_value *v, int64_t group)
{
    glow_dims shape = v->type->shape, split = shape, joined = shape, order;
    int last = shape.rank - 1;

    if (group == 1)
        return exchange_ends(b, v);
    split.rank = shape.rank + 1;
    split.at[last] = group;
    split.at[last + 1] = shape.at[last] / group;
    order = axes(split.rank);
    order.at[0] = last + 1;
    order.at[last + 1] = 0;
    joined.at[0] = split.at[last + 1];
    joined.at[last] = group * shape.at[0];
    v = transpose(b, glow_build_reshape(b, v, split), order);
    return glow_build_reshape(b, v, joined);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_convolution *c = n->attrs;
    glow_dims d = n->in[1]->type->shape, kernels = {.rank = d.rank - 2};
    glow_dims dilation = c->dilation;
    glow_value *v, *filter;

    if (glow_type_count(n->in[0]->type) == 0 ||
        glow_type_count(n->in[1]->type) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    for (int k = 0; k < kernels.rank; k++) {
        kernels.at[k] = d.at[k + 1];
        if (c->dilation.rank == 0)
            dilation.at[k] = 1;
    }
    dilation.rank = kernels.rank;
    v = channels_for_samples(b, n->in[0], c->group);
    filter = exchange_ends(b, n->in[1]);
    v = GLOW_BUILD(b, convolution, GLOW_IN(v, filter, NULL), .kernels = kernels,
                   .strides = dilation, .pads = c->pads, .group = c->group,
                   .dilation = c->strides);
    for (int k = 0; v && k < kernels.rank; k++)
        v = glow_lower_cut(b, v, k + 1, 0, c->kernels.at[k]);
    return v ? exchange_ends(b, v) : NULL;
}

const glow_pass glow_pass_lower_convolutionfiltergrad = {
    .name = "lower-convolutionfiltergrad",
    .summary = "express ConvolutionFilterGrad by Convolution",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_convolutionfiltergrad,
    .rewrite = lower,
};

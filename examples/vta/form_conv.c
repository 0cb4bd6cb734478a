/* Convolutions and products as a vta.Conv: the strides of their weights. */

#include <glow/match.h>

#include "form.h"

/*
 * Blocks of pixels as channels, where the input has few of them:
 *
 *     Conv(%x, @w) {Strides: [2, 2]}   =>
 *         Conv(SpaceToDepth(Pad(%x)) {BlockSize: 2}, @w') {Strides: [1, 1]}
 *
 * if that makes fewer 16 x 16 blocks of weights, with zeros for taps past the kernel.
 * The kernel of 7 x 7 over 3 channels of ResNet's first convolution has 49 blocks, and 16
 * so.
 */
static glow_value *
fold_stride(glow_builder *b, glow_value *x, const glow_type *y, filter *f,
            vta_conv *v)
{
    glow_dims in = x->type->shape;
    int64_t s = v->strides.at[0], channels = s * s * f->channels;
    int64_t size[2], pads[8] = {0};

    for (int i = 0; i < 2; i++) {
        size[i] = (f->kernel[i] + s - 1) / s;
        pads[1 + i] = v->pads.at[i];
        pads[5 + i] = s * (y->shape.at[1 + i] + size[i] - 1) - v->pads.at[i] -
                      in.at[1 + i];
    }
    if (s == 1 || v->strides.at[1] != s || !glow_dims_are(v->dilation, 1) ||
        f->groups != 1 ||
        form_round_up(channels) * size[0] * size[1] >=
            form_round_up(f->channels) * f->taps)
        return x;
    f->block = s;
    f->channels = channels;
    f->across = size[1];
    f->taps = size[0] * size[1];
    v->kernels = GLOW_DIMS_OF(size[0], size[1]);
    v->strides = GLOW_DIMS_OF(1, 1);
    v->pads = GLOW_DIMS_OF(0, 0, 0, 0);
    x = GLOW_BUILD(b, pad, GLOW_IN(x), .mode = GLOW_PAD_CONSTANT,
                   .pads = {8, pads}, .value = 0);
    return GLOW_BUILD(b, spacetodepth, GLOW_IN(x), .block_size = s);
}

static glow_value *
form_filter(glow_builder *b, glow_node *n, filter f)
{
    const glow_convolution *c = n->attrs;
    glow_dims ones = GLOW_DIMS_OF(1, 1), s = n->in[1]->type->shape;
    vta_conv v = {.kernels = c->kernels,
                  .strides = c->strides,
                  .pads = c->pads,
                  .dilation = c->dilation.rank ? c->dilation : ones};
    const char *why;
    glow_value *x;

    if (n->in[0]->type->shape.rank != 4)
        return NULL;
    if (!form_in_limits(v.kernels, 1) || !form_in_limits(v.strides, 1) ||
        !form_in_limits(v.pads, 0) || !form_in_limits(v.dilation, 1))
        return form_leave(b, n,
                          "a kernel, stride, pad or dilation is too large");
    why = form_why_not(&f, n->in[0], n->out[0]);
    if (why)
        return form_leave(b, n, why);
    f.groups = c->group;
    f.results = s.at[0];
    f.channels = s.at[3];
    f.taps = s.at[1] * s.at[2];
    f.kernel[0] = s.at[1];
    f.kernel[1] = f.across = s.at[2];
    f.block = 1;
    f.result_step = f.taps * f.channels;
    f.tap_step = f.channels;
    f.channel_step = 1;
    f.macs = glow_type_count(n->out[0]->type) * f.result_step;
    x = fold_stride(b, n->in[0], n->out[0]->type, &f, &v);
    return form_unit(b, n, x, &f, v, n->out[0]->type);
}

glow_value *
form_convolution(glow_builder *b, glow_node *n)
{
    return form_filter(b, n, (filter){.weights = n->in[1], .bias = n->in[2]});
}

glow_value *
form_channelwise(glow_builder *b, glow_node *n)
{
    return form_filter(b, n,
                       (filter){.weights = n->in[1],
                                .bias = n->in[2],
                                .scales = n->in[3],
                                .offsets = n->in[4],
                                .bias_scales = n->in[5],
                                .bias_offsets = n->in[6]});
}

/* Products: rows are pixels of one column. */

static glow_value *
form_product(glow_builder *b, glow_node *n, int axis, bool transposed, filter f)
{
    glow_dims x = n->in[0]->type->shape, w = n->in[1]->type->shape;
    int64_t rows = glow_dims_product(x, 0, axis);
    vta_conv v = {GLOW_DIMS_OF(1, 1), GLOW_DIMS_OF(1, 1),
                  GLOW_DIMS_OF(0, 0, 0, 0), GLOW_DIMS_OF(1, 1), .group = 1};
    glow_type t = *n->out[0]->type;
    const char *why;
    glow_value *y;

    f.weights = n->in[1];
    f.groups = f.taps = f.block = f.across = f.kernel[0] = f.kernel[1] = 1;
    why = form_why_not(&f, n->in[0], n->out[0]);
    if (why)
        return form_leave(b, n, why);
    f.channels = w.at[transposed];
    f.results = w.at[!transposed];
    f.channel_step = transposed ? 1 : f.results;
    f.result_step = transposed ? f.channels : 1;
    f.macs = rows * f.channels * f.results;
    t.shape = GLOW_DIMS_OF(1, rows, 1, f.results);
    y = form_unit(b, n,
                  GLOW_BUILD(b, reshape, GLOW_IN(n->in[0]),
                             .dims = GLOW_DIMS_OF(1, rows, 1, f.channels)),
                  &f, v, &t);
    return y ? GLOW_BUILD(b, reshape, GLOW_IN(y),
                          .dims = n->out[0]->type->shape)
             : NULL;
}

glow_value *
form_fullyconnected(glow_builder *b, glow_node *n)
{
    const glow_fullyconnected *c = n->attrs;

    return form_product(b, n, c->axis, false, (filter){.bias = n->in[2]});
}

glow_value *
form_rowwise(glow_builder *b, glow_node *n)
{
    return form_product(
        b, n, 1, true,
        (filter){.bias = n->in[4], .scales = n->in[2], .offsets = n->in[3]});
}

glow_value *
form_matmul(glow_builder *b, glow_node *n)
{
    return form_product(b, n, 1, false, (filter){.bias = NULL});
}

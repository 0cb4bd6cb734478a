/*
 * Products of quantized elements whose weights have a scale and an offset for each
 * channel or row.
 */

#include "ir/ops/conv.h"

/* channelwisequantizedconvolution */

static bool
channelwise_infer(const glow_node *n, glow_type out[])
{
    int64_t outputs = n->in[1]->type->shape.at[0];

    return glow_convolution_infer_quantized(n, n->attrs, true, out) &&
           glow_check_channels(n, 3, outputs) &&
           glow_check_channels(n, 5, outputs);
}

static bool
channelwise_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    glow_channels channels = {.scales = in[3],
                              .offsets = in[4],
                              .bias_scales = in[5],
                              .bias_offsets = in[6]};
    glow_sums sums = glow_sums_of(in[0], in[1], in[2], &channels, out[0]->type,
                                  in[1]->type->shape.at[0], scratch);

    glow_convolve(n->attrs, in, out[0], &sums);
    return true;
}

const glow_op glow_op_channelwisequantizedconvolution = {
    .name = "ChannelwiseQuantizedConvolution",
    .summary = "slide filters, each with its own scale and offset, over a "
               "quantized tensor",
    .in = {{"Input", GLOW_TENSOR,
            "x, of shape [N, spatial.., C]; i8, ui8, i16"},
           {"Filter", GLOW_TENSOR,
            "f, of shape [O, Kernels.., C / Group]; i8, ui8, i16.  Its own "
            "scale and offset do not count"},
           {"Bias", GLOW_TENSOR,
            "b, of shape [O]; i8, i16, i32.  Its own scale and offset do not "
            "count"},
           {"FilterScales", GLOW_TENSOR, "of shape [O]"},
           {"FilterOffsets", GLOW_TENSOR, "of shape [O]; index32"},
           {"BiasScales", GLOW_TENSOR, "of shape [O]"},
           {"BiasOffsets", GLOW_TENSOR, "of shape [O]; index32"}},
    .out = {{"Result", GLOW_TENSOR,
             "y, of shape [N, spatial.., O]; the stated kind, scale and "
             "offset"}},
    .attrs = GLOW_CONVOLUTION_ATTRS,
    .defaults = &(const glow_convolution){.dilation = {.rank = 0}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_STATED,
    .infer = channelwise_infer,
    .eval = channelwise_eval,
    .flops = glow_convolution_flops,
    .doc = "Convolution of quantized elements, where channel `o` of Filter "
           "stands for `FilterScales[o] * (f - FilterOffsets[o])`, and `b[o]` "
           "for `BiasScales[o] * (b[o] - BiasOffsets[o])`.  One to three "
           "spatial axes.",
    .source = "Glow ChannelwiseQuantizedConvolution",
};

/* rowwisequantizedfullyconnected */

static bool
rowwise_infer(const glow_node *n, glow_type out[])
{
    glow_dims x = n->in[0]->type->shape, w = n->in[1]->type->shape;

    if (!glow_check_products(n, 4, &out[0]) || !glow_check_rank(n, 0, 2) ||
        !glow_check_rank(n, 1, 2))
        return false;
    return glow_check_shape(n, 1, GLOW_DIMS_OF(w.at[0], x.at[1]),
                            "what Input asks for") &&
           glow_check_channels(n, 2, w.at[0]) &&
           glow_check_shape(n, 4, GLOW_DIMS_OF(w.at[0]),
                            "one for each row of Weights") &&
           glow_check_sums(n, x.at[1], true) &&
           glow_give_quantized(n, GLOW_DIMS_OF(x.at[0], w.at[0]), &out[0]);
}

static bool
rowwise_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    glow_channels channels = {.scales = in[2], .offsets = in[3]};
    glow_sums sums = glow_sums_of(in[0], in[1], in[4], &channels, out[0]->type,
                                  in[1]->type->shape.at[0], scratch);

    (void)n;
    glow_connect_quantized(in, out[0], true, &sums);
    return true;
}

static int64_t
rowwise_flops(const glow_node *n)
{
    return glow_multiply_adds(n->out[0], n->in[1]->type->shape.at[1]);
}

const glow_op glow_op_rowwisequantizedfullyconnected = {
    .name = "RowwiseQuantizedFullyConnected",
    .summary =
        "multiply by the transpose of a matrix whose rows have their own "
        "scales and offsets, and add a bias",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [M, K]; i8, ui8, i16"},
           {"Weights", GLOW_TENSOR,
            "w, of shape [N, K]; i8, ui8, i16.  Its own scale and offset do "
            "not count"},
           {"Scales", GLOW_TENSOR, "of shape [N]"},
           {"Offsets", GLOW_TENSOR, "of shape [N]; index32"},
           {"Bias", GLOW_TENSOR, "b, of shape [N]; i8, i16, i32"}},
    .out = {{"Result", GLOW_TENSOR,
             "y, of shape [M, N]; the stated kind, scale and offset"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_STATED,
    .infer = rowwise_infer,
    .eval = rowwise_eval,
    .flops = rowwise_flops,
    .doc =
        "FullyConnected of quantized elements, where row `n` of Weights "
        "stands for `Scales[n] * (w[n, ..] - Offsets[n])`: `y[m, n] = b[n] + "
        "sum over k of x[m, k] * w[n, k]`.  Bias is rescaled to each row's "
        "unit.",
    .source = "Glow RowwiseQuantizedFullyConnected",
};

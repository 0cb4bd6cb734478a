/*
 * lower-quantizedconvolution: one scale and one offset as those of each channel.
 *
 *     %y = Convolution(%x, %f, %b)           x: S:s, f: S:t O:z
 *         =>
 *     %r = RescaleQuantized(%b) : i32[S:s*t O:0]     unless it has this type
 *     %y = ChannelwiseQuantizedConvolution(%x, %f, %r, [t], [z], [s*t], [0])
 *
 * [..]: a constant.  Where %b is omitted, %r is 0.
 */

#include "lower/quantizedproduct.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_type *f = n->in[1]->type;
    int64_t count = f->shape.at[0];
    float unit = glow_lower_unit(n);

    if (!glow_computes_quantized(n))
        return NULL;

    glow_value *scales =
        glow_lower_channel_scales(b, "scales", count, f->scale);
    glow_value *offsets =
        glow_lower_channel_offsets(b, "offsets", count, f->offset);
    glow_value *bias = glow_lower_bias(b, n->in[2], count, unit);
    glow_value *bias_scales =
        glow_lower_channel_scales(b, "bias_scales", count, unit);
    glow_value *bias_offsets =
        glow_lower_channel_offsets(b, "bias_offsets", count, 0);

    return glow_build(b, &glow_op_channelwisequantizedconvolution,
                      n->out[0]->type,
                      GLOW_IN(n->in[0], n->in[1], bias, scales, offsets,
                              bias_scales, bias_offsets),
                      n->attrs);
}

const glow_pass glow_pass_lower_quantizedconvolution = {
    .name = "lower-quantizedconvolution",
    .summary = "give each channel of a quantized filter the scale of all",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_convolution,
    .rewrite = lower,
    .takes_quantized = true,
};

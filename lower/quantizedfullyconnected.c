/*
 * lower-quantizedfullyconnected: one scale and one offset as those of each row.
 *
 *     %y = FullyConnected(%x, %w, %b)        x: S:s, w: S:t O:z
 *         =>
 *     %f = Reshape(%x)          : [M, K]     unless it is that already
 *     %t = Transpose(%w)        : [N, K]
 *     %r = RescaleQuantized(%b) : i32[S:s*t O:0]     unless it has this type
 *     %y = RowwiseQuantizedFullyConnected(%f, %t, [t], [z], %r)
 *
 * [..]: a constant.
 */

#include "lower/index.h"
#include "lower/quantizedproduct.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_type *w = n->in[1]->type;
    int64_t rows = n->out[0]->type->shape.at[0];
    int64_t depth = w->shape.at[0], count = w->shape.at[1];

    if (!glow_computes_quantized(n))
        return NULL;

    glow_value *x = glow_build_reshape(b, n->in[0], GLOW_DIMS_OF(rows, depth));
    glow_value *turned = glow_lower_transpose(b, n->in[1], GLOW_DIMS_OF(1, 0));
    glow_value *scales =
        glow_lower_channel_scales(b, "scales", count, w->scale);
    glow_value *offsets =
        glow_lower_channel_offsets(b, "offsets", count, w->offset);

    return GLOW_BUILD_STATED_PLAIN(
        b, rowwisequantizedfullyconnected, n->out[0]->type,
        GLOW_IN(x, turned, scales, offsets,
                glow_lower_bias(b, n->in[2], count, glow_lower_unit(n))));
}

const glow_pass glow_pass_lower_quantizedfullyconnected = {
    .name = "lower-quantizedfullyconnected",
    .summary = "give each result's quantized weights the scale of all",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_fullyconnected,
    .rewrite = lower,
    .takes_quantized = true,
};

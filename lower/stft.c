/*
 * lower-stft: gather the frames, multiply by the window, transform all of them.
 *
 *     %y = STFT(%s, %w) {FrameStep: s, FrameLength: f}
 *         =>
 *     %x = Gather(%s, constant [frames, f]: i s + j) {Axis: 1}  [B, frames, f, p]
 *     %y = DFT(%x * [%w]) {Axis: 2, Length: f}           [..]: Broadcast to %x
 */

#include "lower/common.h"

static glow_value *
positions(glow_builder *b, const glow_stft *a, int64_t frames)
{
    glow_dims shape = GLOW_DIMS_OF(frames, a->frame_length);
    glow_value *v =
        glow_build_constant(b, "frames",
                            glow_type_get(glow_builder_context(b),
                                          glow_type_of(GLOW_INDEX64, shape)));

    for (int64_t i = 0; v && i < frames * a->frame_length; i++)
        glow_set_int(&v->storage->tensor, i,
                     i / a->frame_length * a->frame_step + i % a->frame_length);
    return v;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_stft *a = n->attrs;
    glow_value *at = positions(b, a, n->out[0]->type->shape.at[1]);
    glow_value *x = GLOW_BUILD(b, gather, GLOW_IN(n->in[0], at), .axis = 1);

    if (n->in[1] && x)
        x = glow_build_mul(b, x,
                           glow_lower_spread(b, n->in[1], 2, x->type->shape));
    return GLOW_BUILD(b, dft, GLOW_IN(x), .axis = 2, .length = a->frame_length,
                      .onesided = a->onesided);
}

const glow_pass glow_pass_lower_stft = {
    .name = "lower-stft",
    .summary = "express STFT by Gather, Mul and DFT",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_stft,
    .rewrite = lower,
};

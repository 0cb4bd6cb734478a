/*
 * lower-fusedconvolution: split a fused operator into its parts.
 *
 *     %y = FusedConvolution(%x, %f, %b, %a) {Activation: Relu}
 *         =>
 *     %c = Convolution(%x, %f, %b)
 *     %s = Add(%c, %a)
 *     %y = Relu(%s)
 *
 * A backend that fuses element-wise operators as epilogues loses nothing by it.
 * The sum is rounded before the addend is added, and after.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_fusedconvolution *f = n->attrs;
    glow_convolution c = glow_fused_convolution_of(f);
    glow_value *sum = glow_build(b, &glow_op_convolution, NULL,
                                 GLOW_IN(n->in[0], n->in[1], n->in[2]), &c);

    return glow_lower_epilogue(b, sum, n->in[3], f->activation,
                               f->activation_args);
}

const glow_pass glow_pass_lower_fusedconvolution = {
    .name = "lower-fusedconvolution",
    .summary =
        "express FusedConvolution by Convolution, Add and the activation",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_fusedconvolution,
    .rewrite = lower,
};

/*
 * lower-sigmoidgrad: multiply by the slope, which the result gives.
 *
 *     %g = SigmoidGrad(%y, %d)   =>   %g = %d * (%y * (1 - %y))
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *y = n->in[0];

    y = glow_build_mul(b, y, glow_lower_from(b, 1, y));
    return glow_build_mul(b, n->in[1], y);
}

const glow_pass glow_pass_lower_sigmoidgrad = {
    .name = "lower-sigmoidgrad",
    .summary = "express SigmoidGrad by Sub and Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_sigmoidgrad,
    .rewrite = lower,
};

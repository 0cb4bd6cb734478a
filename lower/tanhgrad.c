/*
 * lower-tanhgrad: multiply by the slope, which the result gives.
 *
 *     %g = TanhGrad(%y, %d)   =>   %g = %d * ((1 - %y) * (1 + %y))
 *
 * 1 - y^2 would cancel where y is near 1.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *y = n->in[0], *below = glow_lower_from(b, 1, y);

    y = glow_build_mul(b, below, glow_lower_plus(b, y, 1));
    return glow_build_mul(b, n->in[1], y);
}

const glow_pass glow_pass_lower_tanhgrad = {
    .name = "lower-tanhgrad",
    .summary = "express TanhGrad by Sub, Add and Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_tanhgrad,
    .rewrite = lower,
};

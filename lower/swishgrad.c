/*
 * lower-swishgrad: multiply by the slope, s + x s (1 - s) for the sigmoid s of x.
 *
 *     %g = SwishGrad(%x, %d)   =>   %c = min(max(%x, -1000), 1000)
 *                                   %s = Sigmoid(%c)
 *                                   %g = %d * (%s * (1 + %c * (1 - %s)))
 *
 * The bounds give the limits for infinities; every kind's sigmoid of 1000 is 1.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = glow_lower_bounded(b, n->in[0], 1000);
    glow_value *s = GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(x)), *slope;

    slope = glow_build_mul(b, x, glow_lower_from(b, 1, s));
    slope = glow_build_mul(b, s, glow_lower_plus(b, slope, 1));
    return glow_build_mul(b, n->in[1], slope);
}

const glow_pass glow_pass_lower_swishgrad = {
    .name = "lower-swishgrad",
    .summary = "express SwishGrad by Sigmoid and arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_swishgrad,
    .rewrite = lower,
};

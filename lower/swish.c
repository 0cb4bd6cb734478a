/*
 * lower-swish: the operand times its sigmoid.
 *
 *     %y = Swish(%x)   =>   %y = max(%x, -1000) * Sigmoid(%x)
 *
 * The bound gives -0 for -inf; every kind's sigmoid of -1000 is 0.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];

    glow_value *gate = GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(x));

    return glow_build_mul(b, glow_lower_gated(b, x, -1000), gate);
}

const glow_pass glow_pass_lower_swish = {
    .name = "lower-swish",
    .summary = "express Swish by Sigmoid and Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_swish,
    .rewrite = lower,
};

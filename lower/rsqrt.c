/*
 * lower-rsqrt: divide one by the square root.
 *
 *     %y = Rsqrt(%x)   =>   %y = 1 / Sqrt(%x)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_over(b, 1, glow_build_sqrt(b, n->in[0]));
}

const glow_pass glow_pass_lower_rsqrt = {
    .name = "lower-rsqrt",
    .summary = "express Rsqrt by Sqrt and Div",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_rsqrt,
    .rewrite = lower,
};

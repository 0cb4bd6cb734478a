/*
 * lower-tan: the sine by the cosine.
 *
 *     %y = Tan(%x)   =>   %y = Sin(%x) / Cos(%x)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *s = GLOW_BUILD_PLAIN(b, sin, GLOW_IN(n->in[0]));
    glow_value *c = GLOW_BUILD_PLAIN(b, cos, GLOW_IN(n->in[0]));

    return glow_build_div(b, s, c);
}

const glow_pass glow_pass_lower_tan = {
    .name = "lower-tan",
    .summary = "express Tan by Sin and Cos",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_tan,
    .rewrite = lower,
};

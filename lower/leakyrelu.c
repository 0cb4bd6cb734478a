/*
 * lower-leakyrelu: one slope for all elements is a slope for each.
 *
 *     %y = LeakyRelu(%x) {Alpha: a}   =>   %s = Splat {Value: a}
 *                                          %y = PRelu(%x, %s)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_leakyrelu *l = n->attrs;
    glow_value *slope = glow_lower_splat(b, n->in[0]->type, (double)l->alpha);

    return GLOW_BUILD_PLAIN(b, prelu, GLOW_IN(n->in[0], slope));
}

const glow_pass glow_pass_lower_leakyrelu = {
    .name = "lower-leakyrelu",
    .summary = "express LeakyRelu by PRelu",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_leakyrelu,
    .rewrite = lower,
};

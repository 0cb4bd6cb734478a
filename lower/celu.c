/*
 * lower-celu: expm1 below zero.
 *
 *     %y = Celu(%x) {Alpha: a}   =>   %y = Select(%x < 0, a * expm1(%x / a), %x)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_celu *c = n->attrs;
    glow_value *x = n->in[0], *below = glow_lower_below(b, x, 0);
    glow_value *alpha = glow_lower_splat(b, x->type, (double)c->alpha);
    glow_value *y = glow_lower_expm1(b, glow_build_div(b, x, alpha));

    return glow_build_select(b, below, glow_build_mul(b, y, alpha), x);
}

const glow_pass glow_pass_lower_celu = {
    .name = "lower-celu",
    .summary = "express Celu by Tanh and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_celu,
    .rewrite = lower,
};

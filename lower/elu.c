/*
 * lower-elu: expm1 below zero.
 *
 *     %y = Elu(%x) {Alpha: a}   =>   %y = Select(%x < 0, a * expm1(%x), %x)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_elu *e = n->attrs;
    glow_value *x = n->in[0], *below = glow_lower_below(b, x, 0);
    glow_value *y = glow_lower_expm1(b, x);

    y = glow_lower_times(b, y, (double)e->alpha);
    return glow_build_select(b, below, y, x);
}

const glow_pass glow_pass_lower_elu = {
    .name = "lower-elu",
    .summary = "express Elu by Tanh and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_elu,
    .rewrite = lower,
};

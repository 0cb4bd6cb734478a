/*
 * lower-sign: two comparisons.
 *
 *     %y = Sign(%x)   =>   %y = Select(0 < %x, 1, Select(%x < 0, -1, %x))
 *
 * Zeros and NaN stay as they are.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];
    glow_value *zero = glow_lower_splat(b, x->type, 0);
    glow_value *below = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(x, zero));
    glow_value *above = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(zero, x)), *y;

    y = glow_build_select(b, below, glow_lower_splat(b, x->type, -1), x);
    return glow_build_select(b, above, glow_lower_splat(b, x->type, 1), y);
}

const glow_pass glow_pass_lower_sign = {
    .name = "lower-sign",
    .summary = "express Sign by CmpLT and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_sign,
    .rewrite = lower,
};

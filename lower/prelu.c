/*
 * lower-prelu: select the product where the operand is negative.
 *
 *     %y = PRelu(%x, %s)   =>   %c = CmpLT(%x, 0)
 *                               %m = Mul(%x, %s)
 *                               %y = Select(%c, %m, %x)
 *
 * NaN is not less than 0, and stays NaN.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];
    glow_value *zero = glow_lower_splat(b, x->type, 0);
    glow_value *is_negative = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(x, zero));
    glow_value *scaled = glow_build_mul(b, x, n->in[1]);

    return glow_build_select(b, is_negative, scaled, x);
}

const glow_pass glow_pass_lower_prelu = {
    .name = "lower-prelu",
    .summary = "express PRelu by CmpLT, Mul and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_prelu,
    .rewrite = lower,
};

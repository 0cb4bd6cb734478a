/*
 * lower-relugrad: select the gradient where the result is positive.
 *
 *     %g = ReluGrad(%y, %d)   =>   %c = CmpLT(0, %y)
 *                                  %g = Select(%c, %d, 0)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *zero = glow_lower_splat(b, n->in[0]->type, 0);
    glow_value *is_positive =
        GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(zero, n->in[0]));

    return glow_build_select(b, is_positive, n->in[1], zero);
}

const glow_pass glow_pass_lower_relugrad = {
    .name = "lower-relugrad",
    .summary = "express ReluGrad by CmpLT and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_relugrad,
    .rewrite = lower,
};

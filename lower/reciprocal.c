/*
 * lower-reciprocal: divide one by the operand.
 *
 *     %y = Reciprocal(%x)   =>   %y = 1 / %x
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_over(b, 1, n->in[0]);
}

const glow_pass glow_pass_lower_reciprocal = {
    .name = "lower-reciprocal",
    .summary = "express Reciprocal by Div",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_reciprocal,
    .rewrite = lower,
};

/*
 * lower-mulconst: multiply by a splat.
 *
 *     %y = MulConst(%x) {Lhs: c}   =>   %y = %x * c
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_mulconst *m = n->attrs;

    return glow_lower_times(b, n->in[0], (double)m->lhs);
}

const glow_pass glow_pass_lower_mulconst = {
    .name = "lower-mulconst",
    .summary = "express MulConst by Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_mulconst,
    .rewrite = lower,
};

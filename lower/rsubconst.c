/*
 * lower-rsubconst: subtract from a splat.
 *
 *     %y = RsubConst(%x) {Lhs: c}   =>   %y = c - %x
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_rsubconst *r = n->attrs;

    return glow_lower_from(b, (double)r->lhs, n->in[0]);
}

const glow_pass glow_pass_lower_rsubconst = {
    .name = "lower-rsubconst",
    .summary = "express RsubConst by Sub",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_rsubconst,
    .rewrite = lower,
};

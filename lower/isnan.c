/*
 * lower-isnan: only NaN differs from itself.
 *
 *     %y = IsNaN(%x)   =>   %y = CmpNEQ(%x, %x)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return GLOW_BUILD_PLAIN(b, cmpneq, GLOW_IN(n->in[0], n->in[0]));
}

const glow_pass glow_pass_lower_isnan = {
    .name = "lower-isnan",
    .summary = "express IsNaN by CmpNEQ",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_isnan,
    .rewrite = lower,
};

/*
 * lower-lengthstoranges: running sums beside the lengths.
 *
 *     LengthsToRanges(%l) => Concat([[CumSum(%l) {Exclusive}], [%l]]) {Dim: 1}
 */

#include "lower/sparse.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *l = n->in[0];
    glow_value *at =
        GLOW_BUILD(b, cumsum, GLOW_IN(l), .dim = 0, .exclusive = true);

    at = glow_lower_upright(b, at);
    l = glow_lower_upright(b, l);
    return at && l ? GLOW_BUILD(b, concat, GLOW_IN(at, l), .dim = 1) : NULL;
}

const glow_pass glow_pass_lower_lengthstoranges = {
    .name = "lower-lengthstoranges",
    .summary = "express LengthsToRanges by CumSum and Concat",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_lengthstoranges,
    .rewrite = lower,
};

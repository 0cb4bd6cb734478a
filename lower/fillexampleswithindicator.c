/*
 * lower-fillexampleswithindicator: count the rows so far.
 *
 *     %i = %indicator != 0
 *     y  = Select([%i], Gather(%x, Select(%i, CumSum(%i) {Exclusive}, 0)), 0)
 */

#include "lower/sparse.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_type *type = n->out[0]->type;
    glow_value *i = n->in[1];
    glow_dims list = i->type->shape;
    glow_value *zero = glow_lower_number(b, list, 0), *at, *y;

    if (n->in[0]->type->shape.at[0] == 0 || list.at[0] == 0)
        return glow_lower_splat(b, type, 0);
    if (i->type->elem != GLOW_BOOL)
        i = GLOW_BUILD_PLAIN(
            b, cmpneq, GLOW_IN(glow_lower_convert(b, i, GLOW_INDEX64), zero));
    at = GLOW_BUILD(b, cumsum, GLOW_IN(glow_lower_convert(b, i, GLOW_INDEX64)),
                    .dim = 0, .exclusive = true);
    at = glow_build_select(b, i, at, zero);
    y = GLOW_BUILD(b, gather, GLOW_IN(n->in[0], at), .axis = 0);
    zero = glow_lower_splat(b, type, 0);
    i = glow_lower_spread(b, i, 0, type->shape);
    return glow_build_select(b, i, y, zero);
}

const glow_pass glow_pass_lower_fillexampleswithindicator = {
    .name = "lower-fillexampleswithindicator",
    .summary = "express FillExamplesWithIndicator by CumSum and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_fillexampleswithindicator,
    .rewrite = lower,
};

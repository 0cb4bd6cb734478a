/*
 * lower-lengthssum: take every row, with weight 1.
 *
 *     LengthsSum(%x, %l) => SparseLengthsWeightedSum(%x, 1, [0, 1, ..], %l)
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int64_t rows = n->in[0]->type->shape.at[0];
    glow_type ones = glow_type_of(n->in[0]->type->elem, GLOW_DIMS_OF(rows));
    glow_value *w =
        glow_lower_splat(b, glow_type_get(glow_builder_context(b), ones), 1);

    return GLOW_BUILD(
        b, sparselengthsweightedsum,
        GLOW_IN(n->in[0], w, glow_lower_iota(b, rows, 1), n->in[1]),
        .lengths_mode = 0);
}

const glow_pass glow_pass_lower_lengthssum = {
    .name = "lower-lengthssum",
    .summary = "express LengthsSum by SparseLengthsWeightedSum",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_lengthssum,
    .rewrite = lower,
};

/*
 * lower-sparselengthssum: give every entry the weight 1.
 *
 *     SparseLengthsSum(%x, %i, %l)
 *         => SparseLengthsWeightedSum(%x, Splat() {Value: 1.0}, %i, %l)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_sparselengthssum *a = n->attrs;
    glow_type ones = glow_type_of(n->out[0]->type->elem, n->in[1]->type->shape);
    glow_value *w =
        glow_lower_splat(b, glow_type_get(glow_builder_context(b), ones), 1);

    return GLOW_BUILD(
        b, sparselengthsweightedsum, GLOW_IN(n->in[0], w, n->in[1], n->in[2]),
        .lengths_mode = a->lengths_mode, .avg_length = a->avg_length);
}

const glow_pass glow_pass_lower_sparselengthssum = {
    .name = "lower-sparselengthssum",
    .summary = "express SparseLengthsSum by SparseLengthsWeightedSum",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_sparselengthssum,
    .rewrite = lower,
};

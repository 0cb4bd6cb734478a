/*
 * lower-embedding: gather the rows, with zeros at the padding index.
 *
 *     %y = Embedding(%w, %i) {PadIdx: p}
 *         =>
 *     %g = Gather(%w, %i) {Axis: 0}
 *     %y = Select([CmpEQ(%i, p)], 0, %g)              [..]: Broadcast
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_embedding *e = n->attrs;
    glow_value *i = n->in[1];
    glow_dims shape = i->type->shape, rows = shape;
    glow_value *v =
        GLOW_BUILD(b, gather, GLOW_IN(n->in[0], i), .axis = 0, .batch_dims = 0);

    if (e->pad_idx < 0)
        return v;
    i = glow_lower_positions(b, i, n->in[0]->type->shape.at[0]);
    i = GLOW_BUILD_PLAIN(b, cmpeq,
                         GLOW_IN(i, glow_lower_number(b, shape, e->pad_idx)));
    rows.at[rows.rank++] = 1;
    i = glow_lower_spread(b, glow_build_reshape(b, i, rows), 0,
                          n->out[0]->type->shape);
    return glow_build_select(b, i, glow_lower_splat(b, n->out[0]->type, 0), v);
}

const glow_pass glow_pass_lower_embedding = {
    .name = "lower-embedding",
    .summary = "express Embedding by Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_embedding,
    .rewrite = lower,
};

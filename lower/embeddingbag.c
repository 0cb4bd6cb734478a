/*
 * lower-embeddingbag: lengths instead of offsets.
 *
 *     EmbeddingBag(%x, %w, %i, %o)
 *         => SparseLengthsWeightedSum(%x, %w, %i, %o[1..] - %o[..-1])
 *
 * Without HasEndOffset the end of Indices is put after %o.
 */

#include "lower/sparse.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_embeddingbag *a = n->attrs;
    int64_t count = n->in[2]->type->shape.at[0];
    glow_value *offsets = glow_lower_convert(b, n->in[3], GLOW_INDEX64);

    if (!a->has_end_offset)
        offsets =
            glow_lower_append(b, offsets, glow_lower_list(b, "end", &count, 1));
    return GLOW_BUILD(
        b, sparselengthsweightedsum,
        GLOW_IN(n->in[0], n->in[1], n->in[2], glow_lower_steps(b, offsets)),
        .lengths_mode = a->lengths_mode, .avg_length = a->avg_length);
}

const glow_pass glow_pass_lower_embeddingbag = {
    .name = "lower-embeddingbag",
    .summary = "express EmbeddingBag by SparseLengthsWeightedSum",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_embeddingbag,
    .rewrite = lower,
};

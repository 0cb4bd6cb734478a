/*
 * lower-batchedunaryembeddingsbags: one table, of a row for each weight.
 *
 *     %t = the table of each index                  see glow_lower_runs
 *     %i = %indices + Gather(%tables, %t)
 *     %s = SparseLengthsWeightedSum(%weights with tasks last, 1, %i, lengths)
 *     y  = %s, [tables, bags, tasks], as [tasks, bags, tables]
 */

#include "lower/sparse.h"

/* Indices as rows of all tables together. */
static glow_value *
rows_of(glow_builder *b, const glow_node *n, glow_value *offsets, int64_t bags)
{
    int64_t count = n->in[3]->type->shape.at[0];
    int64_t tables = n->in[1]->type->shape.at[0] - 1;
    glow_type ends = glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(tables + 1));
    glow_value *at = GLOW_BUILD_STATED(
        b, slice, glow_type_get(glow_builder_context(b), ends),
        GLOW_IN(offsets), .start = GLOW_DIMS_OF(0),
        .steps = GLOW_DIMS_OF(bags));
    glow_value *table =
        at ? glow_lower_runs(b, glow_lower_steps(b, at), count) : NULL;
    glow_value *first = glow_lower_convert(b, n->in[1], GLOW_INDEX64);

    first =
        table ? GLOW_BUILD(b, gather, GLOW_IN(first, table), .axis = 0) : NULL;
    return first ? glow_build_add(
                       b, glow_lower_convert(b, n->in[3], GLOW_INDEX64), first)
                 : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_dims y = n->out[0]->type->shape, w = n->in[0]->type->shape;
    glow_type ones = glow_type_of(n->in[0]->type->elem,
                                  GLOW_DIMS_OF(n->in[3]->type->shape.at[0]));
    glow_value *offsets = glow_lower_convert(b, n->in[2], GLOW_INDEX64);
    glow_value *weights =
        glow_build_reshape(b, n->in[0], GLOW_DIMS_OF(w.at[0], w.at[1]));
    glow_value *s, *rows;

    if (y.at[1] == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    weights = glow_lower_transpose(b, weights, GLOW_DIMS_OF(1, 0));
    rows = rows_of(b, n, offsets, y.at[1]);
    s = glow_lower_splat(b, glow_type_get(glow_builder_context(b), ones), 1);
    s = GLOW_BUILD(b, sparselengthsweightedsum,
                   GLOW_IN(weights, s, rows, glow_lower_steps(b, offsets)),
                   .lengths_mode = 0);
    s = glow_build_reshape(b, s, GLOW_DIMS_OF(y.at[2], y.at[1], y.at[0]));
    return glow_lower_transpose(b, s, GLOW_DIMS_OF(2, 1, 0));
}

const glow_pass glow_pass_lower_batchedunaryembeddingsbags = {
    .name = "lower-batchedunaryembeddingsbags",
    .summary = "express BatchedUnaryEmbeddingsBags by one weighted sum",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_batchedunaryembeddingsbags,
    .rewrite = lower,
};

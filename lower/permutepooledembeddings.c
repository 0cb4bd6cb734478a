/*
 * lower-permutepooledembeddings: find the source column of each column.
 *
 *     %j = the embedding of each column of the result   see glow_lower_runs
 *     %c = [0, 1, ..] - Gather(%inv_offsets, %j)
 *              + Gather(%offsets, Gather(%permute, %j))
 *     y  = Gather(%x, %c) {Axis: 1}
 */

#include "lower/sparse.h"

static glow_value *
pick(glow_builder *b, glow_value *from, glow_value *at)
{
    from = glow_lower_convert(b, from, GLOW_INDEX64);
    return from && at ? GLOW_BUILD(b, gather, GLOW_IN(from, at), .axis = 0)
                      : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int64_t columns = n->out[0]->type->shape.at[1];
    glow_value *ends = glow_lower_convert(b, n->in[3], GLOW_INDEX64), *j, *c;

    if (columns == 0)
        return n->in[0];
    j = glow_lower_runs(b, glow_lower_steps(b, ends), columns);
    c = pick(b, ends, j);
    c = glow_build_sub(b, glow_lower_iota(b, columns, 1), c);
    c = glow_build_add(b, c, pick(b, n->in[1], pick(b, n->in[2], j)));
    return GLOW_BUILD(b, gather, GLOW_IN(n->in[0], c), .axis = 1);
}

const glow_pass glow_pass_lower_permutepooledembeddings = {
    .name = "lower-permutepooledembeddings",
    .summary = "express PermutePooledEmbeddings by Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_permutepooledembeddings,
    .rewrite = lower,
};

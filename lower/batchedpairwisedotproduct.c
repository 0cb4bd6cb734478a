/*
 * lower-batchedpairwisedotproduct: all products at once, then those above the
 * diagonal.
 *
 *     %x = Concat(%a, %b, ..) as [B, N, K]
 *     %m = BatchMatMul(%x, Transpose(%x) {Shuffle: [0, 2, 1]})       [B, N, N]
 *     %y = Gather(%m as [B, N N], constant [i N + j, i < j]) {Axis: 1}
 */

#include "lower/common.h"

/* Offsets of the pairs i < j in a matrix of n x n, as a constant. */
static glow_value *
positions(glow_builder *b, int64_t n)
{
    glow_value *v = glow_build_constant(
        b, "pairs",
        glow_type_get(
            glow_builder_context(b),
            glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(n * (n - 1) / 2))));
    int64_t at = 0;

    for (int64_t i = 0; v && i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            glow_set_int(&v->storage->tensor, at++, i * n + j);
    return v;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_dims s = n->in[0]->type->shape;
    int64_t count = n->n_in;
    glow_value *x = glow_build(b, &glow_op_concat, NULL, n->in, n->n_in,
                               &(const glow_concat){.dim = 1});
    glow_value *t;

    x = glow_build_reshape(b, x, GLOW_DIMS_OF(s.at[0], count, s.at[1]));
    t = GLOW_BUILD(b, transpose, GLOW_IN(x), .shuffle = GLOW_DIMS_OF(0, 2, 1));
    x = GLOW_BUILD_PLAIN(b, batchmatmul, GLOW_IN(x, t));
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(s.at[0], count * count));
    return GLOW_BUILD(b, gather, GLOW_IN(x, positions(b, count)), .axis = 1);
}

const glow_pass glow_pass_lower_batchedpairwisedotproduct = {
    .name = "lower-batchedpairwisedotproduct",
    .summary = "express BatchedPairwiseDotProduct by BatchMatMul and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_batchedpairwisedotproduct,
    .rewrite = lower,
};

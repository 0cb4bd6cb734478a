/*
 * lower-indexadd: scatter along the first axis.
 *
 *     %y = IndexAdd(%x, %i, %s) {Dim: 1, Alpha: a}
 *         =>
 *     %t = Transpose(%s * a)                            Dim goes first
 *     %z = ScatterData(Transpose(%x), %i : [k, 1], %t) {Reduction: add}
 *     %y = Transpose(%z)
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_indexadd *a = n->attrs;
    int rank = n->in[0]->type->shape.rank;
    glow_dims to = glow_lower_move(rank, a->dim, 0);
    int64_t count = n->in[1]->type->shape.at[0];
    glow_value *source = n->in[2];

    if (a->alpha != 1)
        source = glow_lower_times(b, source, (double)a->alpha);

    source = glow_lower_transpose(b, source, to);

    glow_value *x = glow_lower_transpose(b, n->in[0], to);
    glow_value *at = glow_build_reshape(b, n->in[1], GLOW_DIMS_OF(count, 1));
    glow_value *v = GLOW_BUILD(b, scatterdata, GLOW_IN(x, at, source),
                               .reduction = GLOW_SCATTER_ADD);

    return glow_lower_transpose(b, v, glow_lower_unmove(rank, a->dim, 0));
}

const glow_pass glow_pass_lower_indexadd = {
    .name = "lower-indexadd",
    .summary = "express IndexAdd by ScatterData",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_indexadd,
    .rewrite = lower,
};

/*
 * lower-gatherelements: all axes but one are batches of Gather.
 *
 *     %y = GatherElements(%x : [5, 4, 6], %i : [5, 3, 2]) {Dim: 1}
 *         =>
 *     %s = Slice(%x)                                  : [5, 4, 2]
 *     %a = Transpose(%s), %b = Transpose(%i)          Dim goes last
 *     %g = Gather(%a, %b) {Axis: 2, BatchDims: 2}     : [5, 2, 3]
 *     %y = Transpose(%g)                              : [5, 3, 2]
 *
 * Along the other axes, Slice cuts off the elements beyond the sizes of
 * Indices.
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int dim = ((const glow_gatherelements *)n->attrs)->dim;
    glow_dims x = n->in[0]->type->shape, head = n->in[1]->type->shape;
    int last = x.rank - 1;
    glow_dims to = glow_lower_move(x.rank, dim, last);

    head.at[dim] = x.at[dim];

    glow_value *data =
        glow_lower_transpose(b, glow_lower_head(b, n->in[0], head), to);
    glow_value *at = glow_lower_transpose(b, n->in[1], to);
    glow_value *v = GLOW_BUILD(b, gather, GLOW_IN(data, at), .axis = last,
                               .batch_dims = last);

    return glow_lower_transpose(b, v, glow_lower_unmove(x.rank, dim, last));
}

const glow_pass glow_pass_lower_gatherelements = {
    .name = "lower-gatherelements",
    .summary = "express GatherElements by Gather with batches",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_gatherelements,
    .rewrite = lower,
};

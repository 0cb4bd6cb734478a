/*
 * lower-bucketize: count the boundaries that are less.
 *
 *     %y = Bucketize(%x : [5]) {Boundaries: [0, 1, 2]}
 *         =>
 *     %c = CmpLT([0, 1, 2], [%x])                  : [5, 3]
 *     %y = BatchedReduceAdd(ConvertTo(%c)) {Axes: [1]}
 *
 * Three operators, however many elements or boundaries; [..]: Broadcast.
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_floats *list = &((const glow_bucketize *)n->attrs)->boundaries;
    glow_kind kind =
        n->in[0]->type->elem == GLOW_FLOAT64 ? GLOW_FLOAT64 : GLOW_FLOAT;
    int64_t count = glow_dims_count(n->in[0]->type->shape);
    glow_dims plane = GLOW_DIMS_OF(count, list->count);
    glow_type row = glow_type_of(kind, GLOW_DIMS_OF(list->count));
    glow_value *edges = glow_build_constant(
        b, "boundaries", glow_type_get(glow_builder_context(b), row));

    for (int64_t i = 0; edges && i < list->count; i++)
        glow_set_double(&edges->storage->tensor, i, (double)list->at[i]);

    glow_value *x = glow_lower_convert(b, n->in[0], kind);

    x = glow_lower_spread(b, glow_build_reshape(b, x, GLOW_DIMS_OF(count, 1)),
                          0, plane);
    edges = glow_lower_spread(b, edges, 1, plane);

    glow_value *less = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(edges, x));
    glow_value *v = GLOW_BUILD(
        b, batchedreduceadd, GLOW_IN(glow_lower_convert(b, less, GLOW_INDEX32)),
        .axes = GLOW_DIMS_OF(1));

    return glow_build_reshape(b, v, n->out[0]->type->shape);
}

const glow_pass glow_pass_lower_bucketize = {
    .name = "lower-bucketize",
    .summary = "express Bucketize by comparisons and a sum",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_bucketize,
    .rewrite = lower,
};

/*
 * lower-gathernd: the indices of several axes become one index of these axes,
 * flattened.
 *
 *     %y = GatherND(%x : [5, 6, 7], %i : [3, 2])
 *         =>
 *     %f = Reshape(%x)                          : [30, 7]
 *     %p = positions of %i, counted from the front
 *     %k = BatchedReduceAdd(%p * [6, 1]) {Axes: [1]}
 *     %y = Gather(%f, %k) {Axis: 0}             : [3, 7]
 *
 * A position out of range on its axis counts as 30, so that the sum is out of
 * range of Gather too.
 */

#include "lower/index.h"

/*
 * Indices `at` times the strides of their axes, or `far` where one is out of
 * range.
 */
static glow_value *
offsets(glow_builder *b, glow_value *at, const int64_t *size, int64_t count,
        int64_t far)
{
    glow_dims shape = at->type->shape;
    int64_t *step = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, count);
    int last = shape.rank - 1;

    for (int64_t i = count - 1, x = 1; i >= 0; x *= size[i--])
        step[i] = x;

    glow_value *sizes = glow_lower_spread(
        b, glow_lower_list(b, "sizes", size, count), last, shape);
    glow_value *steps = glow_lower_spread(
        b, glow_lower_list(b, "steps", step, count), last, shape);
    glow_value *zero = glow_lower_number(b, shape, 0);
    glow_value *v = glow_lower_convert(b, at, GLOW_INDEX64);

    glow_value *below = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(v, zero));
    glow_value *moved = glow_build_add(b, v, sizes);

    v = glow_build_select(b, below, moved, v);

    glow_value *low = GLOW_BUILD_PLAIN(b, cmplte, GLOW_IN(zero, v));
    glow_value *high = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(v, sizes));
    glow_value *fits = GLOW_BUILD_PLAIN(b, and, GLOW_IN(low, high));

    v = glow_build_mul(b, v, steps);
    return glow_build_select(b, fits, v, glow_lower_number(b, shape, far));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int batch = ((const glow_gathernd *)n->attrs)->batch_dims;
    glow_dims x = n->in[0]->type->shape, at = n->in[1]->type->shape;
    int depth = (int)at.at[at.rank - 1];
    int64_t far = glow_dims_product(x, batch, batch + depth);
    glow_dims flat = {.rank = batch}, where = {.rank = batch};
    glow_value *v = n->in[1];

    for (int i = 0; i < batch; i++)
        flat.at[i] = where.at[i] = x.at[i];
    flat.at[flat.rank++] = far;
    flat.at[flat.rank++] = glow_dims_product(x, batch + depth, x.rank);
    where.at[where.rank++] = glow_dims_product(at, batch, at.rank - 1);
    if (depth == 0) {
        v = glow_lower_number(b, where, 0);
    } else {
        v = offsets(b, v, &x.at[batch], depth, far);
        v = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v),
                       .axes = GLOW_DIMS_OF(at.rank - 1));
        v = glow_build_reshape(b, v, where);
    }
    v = GLOW_BUILD(b, gather, GLOW_IN(glow_build_reshape(b, n->in[0], flat), v),
                   .axis = batch, .batch_dims = batch);
    return glow_build_reshape(b, v, n->out[0]->type->shape);
}

const glow_pass glow_pass_lower_gathernd = {
    .name = "lower-gathernd",
    .summary = "express GatherND by arithmetic on indices and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_gathernd,
    .rewrite = lower,
};

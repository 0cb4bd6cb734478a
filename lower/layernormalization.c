/*
 * lower-layernormalization: write the formula out.
 *
 *     %y = LayerNormalization(%x, %s, %b) {Axis: a, Epsilon: e}
 *         =>
 *     %d = %x - [BatchedReduceMean(%x) {Axes: a, ..}]     [..]: Broadcast to %x
 *     %v = BatchedReduceMean(%d * %d) {Axes: a, ..}
 *     %y = %d / [Sqrt(%v + e)] * [%s] + [%b]
 *
 * An omitted Scale or Bias takes its operator with it.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_layernormalization *l = n->attrs;
    glow_value *x = n->in[0];
    glow_dims shape = x->type->shape, axes = {0};

    for (int i = l->axis; i < shape.rank; i++)
        axes.at[axes.rank++] = i;

    glow_value *mean =
        GLOW_BUILD(b, batchedreducemean, GLOW_IN(x), .axes = axes);
    glow_value *d = glow_build_sub(b, x, glow_lower_spread(b, mean, 0, shape));
    glow_value *square = glow_build_mul(b, d, d);
    glow_value *var =
        GLOW_BUILD(b, batchedreducemean, GLOW_IN(square), .axes = axes);

    var = glow_lower_plus(b, var, (double)l->epsilon);
    var = glow_build_sqrt(b, var);

    glow_value *y = glow_build_div(b, d, glow_lower_spread(b, var, 0, shape));

    if (n->in[1])
        y = glow_build_mul(b, y,
                           glow_lower_spread(b, n->in[1], l->axis, shape));
    if (n->in[2])
        y = glow_build_add(b, y,
                           glow_lower_spread(b, n->in[2], l->axis, shape));
    return y;
}

const glow_pass glow_pass_lower_layernormalization = {
    .name = "lower-layernormalization",
    .summary = "express LayerNormalization by means and arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_layernormalization,
    .rewrite = lower,
    .source = "Ba, Kiros, Hinton, arXiv:1607.06450, section 3",
};

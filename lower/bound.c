/*
 * lower-bound: compare positions with the count.
 *
 *     %y = Bound(%x : [5, 3], %n) {Axis: 0}
 *         =>
 *     %c = CmpLT([0, 1, 2, 3, 4], [%n])
 *     %y = Select([%c], %x, 0)                        [..]: Broadcast
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int axis = ((const glow_bound *)n->attrs)->axis;
    glow_dims shape = n->in[0]->type->shape;
    glow_dims column = shape;
    glow_value *at = glow_lower_iota(b, shape.at[axis], 1);
    glow_value *count =
        glow_lower_spread(b, glow_lower_convert(b, n->in[1], GLOW_INDEX64), 0,
                          GLOW_DIMS_OF(shape.at[axis]));
    glow_value *v = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(at, count));

    for (int i = 0; i < shape.rank; i++)
        column.at[i] = i == axis ? shape.at[i] : 1;
    v = glow_build_reshape(b, v, column);
    v = glow_lower_spread(b, v, 0, shape);
    return glow_build_select(b, v, n->in[0],
                             glow_lower_splat(b, n->out[0]->type, 0));
}

const glow_pass glow_pass_lower_bound = {
    .name = "lower-bound",
    .summary = "express Bound by a comparison",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_bound,
    .rewrite = lower,
    .takes_quantized = true,
};

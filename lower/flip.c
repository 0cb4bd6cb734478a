/*
 * lower-flip: a slice backwards.
 *
 *     %y = Flip(%x : [4, 3]) {Axis: 0}
 *         =>
 *     %y = Slice(%x) {Start: [3, 0], Steps: [-1, 1]} : [4, 3]
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int axis = ((const glow_flip *)n->attrs)->axis;
    glow_dims shape = n->in[0]->type->shape;
    glow_slice s = {.start.rank = shape.rank, .steps.rank = shape.rank};

    for (int i = 0; i < shape.rank; i++)
        s.steps.at[i] = i == axis ? -1 : 1;
    s.start.at[axis] = shape.at[axis] > 0 ? shape.at[axis] - 1 : 0;
    return glow_build(b, &glow_op_slice, n->out[0]->type, GLOW_IN(n->in[0]),
                      &s);
}

const glow_pass glow_pass_lower_flip = {
    .name = "lower-flip",
    .summary = "express Flip by Slice",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_flip,
    .rewrite = lower,
};

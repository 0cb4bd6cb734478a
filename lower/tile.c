/*
 * lower-tile: copies along an axis are a repeated axis before it.
 *
 *     %y = Tile(%x : [2, 3, 4]) {Count: 5, Axis: 1} : [2, 15, 4]
 *         =>
 *     %a = Reshape(%x)   : [2, 1, 12]      axes before; one; Axis and the rest
 *     %b = Broadcast(%a) : [2, 5, 12]
 *     %y = Reshape(%b)   : [2, 15, 4]
 *
 * Three operators, however many copies.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_tile *t = n->attrs;
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    int64_t before = glow_dims_product(x, 0, t->axis);
    int64_t rest = glow_dims_product(x, t->axis, x.rank);
    glow_value *v = GLOW_BUILD(b, reshape, GLOW_IN(n->in[0]),
                               .dims = GLOW_DIMS_OF(before, 1, rest));

    v = glow_lower_spread(b, v, 0, GLOW_DIMS_OF(before, t->count, rest));
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = y);
}

const glow_pass glow_pass_lower_tile = {
    .name = "lower-tile",
    .summary = "express Tile by Reshape and Broadcast",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_tile,
    .rewrite = lower,
};

/*
 * lower-onehot: compare the numbers with all positions.
 *
 *     %y = OneHot(%i : [4], %v) {Depth: 3, Axis: 1}
 *         =>
 *     %p = positions of %i, counted from the front
 *     %c = CmpEQ([%p], [0, 1, 2])               : [4, 3]
 *     %y = Select(%c, [%v[1]], [%v[0]])         [..]: Broadcast
 */

#include "lower/index.h"

/* Element `k` of Values, everywhere. */
static glow_value *
value_at(glow_builder *b, glow_node *n, int64_t k)
{
    glow_type one = *n->in[1]->type;

    one.shape = GLOW_DIMS_OF(1);
    one.strides = (glow_dims){0};

    glow_value *v =
        GLOW_BUILD_STATED(b, slice, glow_type_get(glow_builder_context(b), one),
                          GLOW_IN(n->in[1]), .start = GLOW_DIMS_OF(k));

    return glow_lower_spread(b, v, 0, n->out[0]->type->shape);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_onehot *o = n->attrs;
    glow_dims shape = n->out[0]->type->shape, column = shape;

    column.at[o->axis] = 1;

    glow_value *at = glow_lower_spread(
        b,
        glow_build_reshape(b, glow_lower_positions(b, n->in[0], o->depth),
                           column),
        0, shape);
    glow_value *all =
        glow_lower_spread(b, glow_lower_iota(b, o->depth, 1), o->axis, shape);

    glow_value *is_on = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(at, all));
    glow_value *off = value_at(b, n, 0);

    return glow_build_select(b, is_on, value_at(b, n, 1), off);
}

const glow_pass glow_pass_lower_onehot = {
    .name = "lower-onehot",
    .summary = "express OneHot by a comparison",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_onehot,
    .rewrite = lower,
    .takes_quantized = true,
};

/*
 * lower-hardmax: compare positions with ArgMax.
 *
 *     %m = ArgMax(%x) {Axis: a, KeepDims: true}
 *     %y = ConvertTo(CmpEQ([%m], [0, 1, 2, ...]))       [..]: Broadcast to %x
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_hardmax *h = n->attrs;
    glow_value *x = n->in[0];
    glow_dims shape = x->type->shape;
    glow_dims line = GLOW_DIMS_OF(shape.at[h->axis]);
    glow_value *m, *places;

    if (glow_dims_count(shape) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    m = GLOW_BUILD(b, argmax, GLOW_IN(x), .axis = h->axis, .keep_dims = true);
    places =
        glow_build_constant(b, "places",
                            glow_type_get(glow_builder_context(b),
                                          glow_type_of(GLOW_INDEX64, line)));
    for (int64_t i = 0; places && i < line.at[0]; i++)
        glow_set_int(&places->storage->tensor, i, i);
    m = glow_lower_spread(b, m, 0, shape);
    places = glow_lower_spread(b, places, h->axis, shape);
    m = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(m, places));
    return glow_lower_convert(b, m, x->type->elem);
}

const glow_pass glow_pass_lower_hardmax = {
    .name = "lower-hardmax",
    .summary = "express Hardmax by ArgMax and CmpEQ",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_hardmax,
    .rewrite = lower,
};

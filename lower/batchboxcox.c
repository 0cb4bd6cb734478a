/*
 * lower-batchboxcox: write both formulas out, and choose.
 *
 *     %y = BatchBoxCox(%x, %a, %b) {Epsilon: e}
 *         =>
 *     %u = Max(%x + [%b], e)                       [..]: Broadcast to %x
 *     %y = Select([CmpEQ(%a, 0)], Log(%u), (Pow(%u, [%a]) - 1) / [%a])
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_batchboxcox *c = n->attrs;
    glow_value *a = n->in[1], *u, *power, *is_log, *y;
    glow_dims shape = n->in[0]->type->shape;

    u = glow_build_add(b, n->in[0], glow_lower_spread(b, n->in[2], 1, shape));
    if (!u)
        return NULL;
    u = GLOW_BUILD_PLAIN(
        b, max, GLOW_IN(u, glow_lower_splat(b, u->type, (double)c->epsilon)));
    is_log =
        GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(a, glow_lower_splat(b, a->type, 0)));
    power = glow_lower_spread(b, a, 1, shape);
    y = GLOW_BUILD_PLAIN(b, pow, GLOW_IN(u, power));
    y = glow_build_div(b, glow_lower_plus(b, y, -1), power);
    u = glow_build_log(b, u);
    return GLOW_BUILD_PLAIN(
        b, select, GLOW_IN(glow_lower_spread(b, is_log, 1, shape), u, y));
}

const glow_pass glow_pass_lower_batchboxcox = {
    .name = "lower-batchboxcox",
    .summary = "express BatchBoxCox by Pow, Log and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_batchboxcox,
    .rewrite = lower,
};

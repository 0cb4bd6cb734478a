/*
 * lower-floordiv: divide, and round.
 *
 *     floats:     %z = Floor(%x / %y), or Truncate
 *     integers:   %z = %x / %y, less 1 where remainder and %y differ in sign
 *
 * Div of integers rounds toward zero.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_floordiv *a = n->attrs;
    glow_value *x = n->in[0], *y = n->in[1], *r;
    glow_value *q = glow_build_div(b, x, y);
    bool is_float = glow_is_float(x->type->elem);

    if (is_float)
        return a->truncate ? GLOW_BUILD_PLAIN(b, truncate, GLOW_IN(q))
                           : GLOW_BUILD_PLAIN(b, floor, GLOW_IN(q));
    if (a->truncate || !glow_kind_get(x->type->elem)->is_signed)
        return q;
    r = GLOW_BUILD_PLAIN(b, fmod, GLOW_IN(x, y));
    r = glow_lower_convert(b, glow_lower_strays(b, r, y), x->type->elem);
    return glow_build_sub(b, q, r);
}

const glow_pass glow_pass_lower_floordiv = {
    .name = "lower-floordiv",
    .summary = "express FloorDiv by Div",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_floordiv,
    .rewrite = lower,
};

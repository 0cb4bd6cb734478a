/*
 * lower-clip: hold elements between bounds by Max and Min.
 *
 *     %y = Clip(%x) {Min: a, Max: b}   =>   %l = Splat {Value: a}
 *                                           %m = Max(%x, %l)
 *                                           %h = Splat {Value: b}
 *                                           %y = Min(%m, %h)
 *
 * That is how Clip is defined, bounds rounded to the element kind included.  A
 * bound that nothing passes (-inf, inf) needs no operator.
 */

#include <math.h>

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_clip *c = n->attrs;
    const glow_type *type = n->out[0]->type;
    glow_value *y = n->in[0];

    if (c->min != -INFINITY)
        y = GLOW_BUILD_PLAIN(
            b, max, GLOW_IN(y, glow_lower_splat(b, type, (double)c->min)));
    if (c->max != INFINITY)
        y = GLOW_BUILD_PLAIN(
            b, min, GLOW_IN(y, glow_lower_splat(b, type, (double)c->max)));
    if (y && y->type != type)
        y = GLOW_BUILD_PLAIN(b, copy, GLOW_IN(y));
    return y;
}

const glow_pass glow_pass_lower_clip = {
    .name = "lower-clip",
    .summary = "express Clip by Max and Min",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_clip,
    .rewrite = lower,
};

/*
 * lower-shrink: two comparisons.
 *
 *     %h = Select(%x > Lambd, %x - Bias, %0)
 *     %y = Select(%x < -Lambd, %x + Bias, %h)
 *
 * where %0 is Select(IsNaN(%x), %x, 0), so that NaN stays.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_shrink *a = n->attrs;
    double lambd = (double)a->lambd, bias = (double)a->bias;
    glow_value *x = n->in[0];
    glow_value *limit = glow_lower_splat(b, x->type, lambd);
    glow_value *above = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(limit, x));
    glow_value *below = glow_lower_below(b, x, -lambd), *y;

    y = GLOW_BUILD_PLAIN(b, isnan, GLOW_IN(x));
    y = glow_build_select(b, y, x, glow_lower_splat(b, x->type, 0));
    y = glow_build_select(b, above, glow_lower_plus(b, x, -bias), y);
    return glow_build_select(b, below, glow_lower_plus(b, x, bias), y);
}

const glow_pass glow_pass_lower_shrink = {
    .name = "lower-shrink",
    .summary = "express Shrink by CmpLT and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_shrink,
    .rewrite = lower,
};

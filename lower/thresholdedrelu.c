/*
 * lower-thresholdedrelu: a comparison.
 *
 *     %y = ThresholdedRelu(%x) {Alpha: a}   =>   %y = Select(%x <= a, 0, %x)
 *
 * NaN is not less, and stays.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_thresholdedrelu *t = n->attrs;
    glow_value *x = n->in[0];
    glow_value *limit = glow_lower_splat(b, x->type, (double)t->alpha);
    glow_value *low = GLOW_BUILD_PLAIN(b, cmplte, GLOW_IN(x, limit));

    return glow_build_select(b, low, glow_lower_splat(b, x->type, 0), x);
}

const glow_pass glow_pass_lower_thresholdedrelu = {
    .name = "lower-thresholdedrelu",
    .summary = "express ThresholdedRelu by CmpLTE and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_thresholdedrelu,
    .rewrite = lower,
};

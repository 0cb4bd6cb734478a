/*
 * lower-isinf: compare with infinity.
 *
 *     both:       %y = CmpEQ(Abs(%x), inf)
 *     one sign:   %y = CmpEQ(%x, inf), or -inf
 *     none:       %y = Splat {Value: 0}
 */

#include "lower/common.h"

#include <math.h>

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_isinf *a = n->attrs;
    glow_value *x = n->in[0], *limit;

    if (!a->detect_negative && !a->detect_positive)
        return glow_lower_splat(b, n->out[0]->type, 0);
    limit = glow_lower_splat(
        b, x->type, a->detect_positive ? (double)INFINITY : -(double)INFINITY);
    if (a->detect_negative && a->detect_positive)
        x = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));
    return GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(x, limit));
}

const glow_pass glow_pass_lower_isinf = {
    .name = "lower-isinf",
    .summary = "express IsInf by Abs and CmpEQ",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_isinf,
    .rewrite = lower,
};

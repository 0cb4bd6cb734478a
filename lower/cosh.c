/*
 * lower-cosh: half the sum of two exponentials.
 *
 *     p^2 / 2 + q^2 / 2,  p = e^(x/2), q = e^(-x/2)
 *
 * The halves of x let no exponential overflow before the result does.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *h = glow_lower_times(b, n->in[0], 0.5);
    glow_value *p = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(h)), *q;

    q = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(glow_build_neg(b, h)));
    p = glow_build_mul(b, glow_lower_times(b, p, 0.5), p);
    q = glow_build_mul(b, glow_lower_times(b, q, 0.5), q);
    return glow_build_add(b, p, q);
}

const glow_pass glow_pass_lower_cosh = {
    .name = "lower-cosh",
    .summary = "express Cosh by Exp",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_cosh,
    .rewrite = lower,
};

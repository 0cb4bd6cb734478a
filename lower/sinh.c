/*
 * lower-sinh: half the difference of two exponentials.
 *
 *     |x| < 1:   2 t / (1 - t^2),  t = tanh(x / 2)
 *     else:      p^2 / 2 - q^2 / 2,  p = e^(x/2), q = e^(-x/2)
 *
 * The first does not cancel near 0.  The halves of x let no exponential of the
 * second overflow before the result does.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0], *near, *far;
    glow_value *h = glow_lower_times(b, x, 0.5);
    glow_value *t = GLOW_BUILD_PLAIN(b, tanh, GLOW_IN(h));
    glow_value *p = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(h)), *q;

    q = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(glow_build_neg(b, h)));
    p = glow_build_mul(b, glow_lower_times(b, p, 0.5), p);
    q = glow_build_mul(b, glow_lower_times(b, q, 0.5), q);
    far = glow_build_sub(b, p, q);
    near = glow_lower_from(b, 1, glow_build_mul(b, t, t));
    near = glow_build_div(b, glow_build_add(b, t, t), near);
    x = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));
    return glow_build_select(b, glow_lower_below(b, x, 1), near, far);
}

const glow_pass glow_pass_lower_sinh = {
    .name = "lower-sinh",
    .summary = "express Sinh by Exp and Tanh",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_sinh,
    .rewrite = lower,
};

/*
 * lower-mish: a fraction of one exponential.
 *
 *     v = e^(-|x| / 2),  w = v^2
 *     x < 0:   y = max(x, -1000) v * v (w + 2) / (w (w + 2) + 2)
 *     else:    y = x * m / (m + 2 w^2),  m = 1 + 2 w
 *
 * tanh(log(1 + e^x)) is ((1 + e^x)^2 - 1) / ((1 + e^x)^2 + 1): nothing cancels
 * when that is written out, and v cannot overflow.  If e^x is subnormal, v is
 * still normal, so x e^x keeps its digits; the bound gives -0 for -inf.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0], *below = glow_lower_below(b, x, 0);
    glow_value *v, *w, *m, *far, *num, *den;

    v = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));
    v = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(glow_lower_times(b, v, -0.5)));
    w = glow_build_mul(b, v, v);
    m = glow_lower_plus(b, glow_lower_times(b, w, 2), 1);
    far = glow_lower_plus(b, w, 2);
    num = glow_build_select(b, below, glow_build_mul(b, v, far), m);
    far = glow_lower_plus(b, glow_build_mul(b, w, far), 2);
    den = glow_lower_times(b, glow_build_mul(b, w, w), 2);
    den = glow_build_select(b, below, far, glow_build_add(b, m, den));
    v = glow_build_mul(b, glow_lower_gated(b, x, -1000), v);
    x = glow_build_select(b, below, v, x);
    return glow_build_mul(b, x, glow_build_div(b, num, den));
}

const glow_pass glow_pass_lower_mish = {
    .name = "lower-mish",
    .summary = "express Mish by Exp and Div",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_mish,
    .rewrite = lower,
};

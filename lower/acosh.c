/*
 * lower-acosh: a logarithm, by two formulas.
 *
 *     x < 2:   2 log1p(sqrt(h) + h / (1 + sqrt(1 + h))),  h = (x - 1) / 2
 *     else:    log(x) + log(1 + sqrt(1 - 1 / x^2))
 *
 * The first is 2 arsinh(sqrt(h)): x - 1 is exact near 1, where the second would
 * cancel.  The second cannot overflow.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0], *near, *far;
    glow_value *h = glow_lower_times(b, glow_lower_plus(b, x, -1), 0.5);
    glow_value *w = glow_build_sqrt(b, glow_lower_plus(b, h, 1));
    glow_value *i = glow_lower_over(b, 1, x);

    near = glow_build_div(b, h, glow_lower_plus(b, w, 1));
    near = glow_build_add(b, glow_build_sqrt(b, h), near);
    near = glow_lower_times(b, glow_lower_log1p(b, near), 2);
    i = glow_lower_from(b, 1, glow_build_mul(b, i, i));
    far = glow_build_log(b, glow_lower_plus(b, glow_build_sqrt(b, i), 1));
    far = glow_build_add(b, far, glow_build_log(b, x));
    return glow_build_select(b, glow_lower_below(b, x, 2), near, far);
}

const glow_pass glow_pass_lower_acosh = {
    .name = "lower-acosh",
    .summary = "express Acosh by Log and Sqrt",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_acosh,
    .rewrite = lower,
};

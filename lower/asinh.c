/*
 * lower-asinh: a logarithm, by two formulas.
 *
 *     a < 1:   log1p(a + a^2 / (1 + sqrt(1 + a^2))),  a = |x|
 *     else:    log(a) + log(1 + sqrt(1 + 1 / a^2))
 *
 * with the sign of x.  The first does not cancel near 0, the second cannot
 * overflow.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0], *near, *far;
    glow_value *a = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));
    glow_value *square = glow_build_mul(b, a, a);
    glow_value *i = glow_lower_over(b, 1, a);

    near = glow_build_sqrt(b, glow_lower_plus(b, square, 1));
    near = glow_build_div(b, square, glow_lower_plus(b, near, 1));
    near = glow_lower_log1p(b, glow_build_add(b, a, near));
    far = glow_lower_plus(b, glow_build_mul(b, i, i), 1);
    far = glow_build_log(b, glow_lower_plus(b, glow_build_sqrt(b, far), 1));
    far = glow_build_add(b, far, glow_build_log(b, a));
    return glow_lower_signed(
        b, x, glow_build_select(b, glow_lower_below(b, a, 1), near, far));
}

const glow_pass glow_pass_lower_asinh = {
    .name = "lower-asinh",
    .summary = "express Asinh by Log and Sqrt",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_asinh,
    .rewrite = lower,
};

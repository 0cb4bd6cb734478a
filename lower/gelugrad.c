/*
 * lower-gelugrad: multiply by the slope, as its formula.
 *
 *     %g = GeluGrad(%x, %d)   =>   %c = min(max(%x, -40), 40),  %g = %d * slope(%c)
 *
 *     erf:   slope(x) = (1 + Erf(x sqrt(1/2))) / 2 + x Exp(-x^2 / 2) / sqrt(2 pi)
 *     tanh:  slope(x) = s + x s (1 - s) z',  s = Sigmoid(z),
 *            z = 2 sqrt(2/pi) (x + 0.044715 x^3),  z' its derivative
 *
 * The bounds give the limits for infinities: beyond them the second summand is 0 in
 * every kind.
 */

#include "lower/common.h"

#define BOUND 40

static glow_value *
by_erf(glow_builder *b, glow_value *x)
{
    glow_value *p = GLOW_BUILD_PLAIN(
        b, erf, GLOW_IN(glow_lower_times(b, x, GLOW_SQRT_HALF)));
    glow_value *density = glow_lower_times(b, glow_build_mul(b, x, x), -0.5);

    p = glow_lower_times(b, glow_lower_plus(b, p, 1), 0.5);
    density = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(density));
    density = glow_lower_times(b, density, GLOW_ONE_BY_SQRT_2_PI);
    return glow_build_add(b, p, glow_build_mul(b, x, density));
}

static glow_value *
by_tanh(glow_builder *b, glow_value *x)
{
    glow_value *square = glow_build_mul(b, x, x), *z, *s, *slope;

    z = glow_lower_times(b, glow_build_mul(b, square, x), GLOW_GELU_CUBE);
    z = glow_lower_times(b, glow_build_add(b, x, z), 2 * GLOW_SQRT_2_BY_PI);
    s = GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(z));
    slope =
        glow_lower_plus(b, glow_lower_times(b, square, 3 * GLOW_GELU_CUBE), 1);
    slope = glow_lower_times(b, slope, 2 * GLOW_SQRT_2_BY_PI);
    slope = glow_build_mul(b, slope, glow_build_mul(b, x, s));
    slope = glow_build_mul(b, slope, glow_lower_from(b, 1, s));
    return glow_build_add(b, s, slope);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_gelugrad *g = n->attrs;
    glow_value *x = glow_lower_bounded(b, n->in[0], BOUND);

    x = g->approximate == GLOW_GELU_TANH ? by_tanh(b, x) : by_erf(b, x);
    return glow_build_mul(b, n->in[1], x);
}

const glow_pass glow_pass_lower_gelugrad = {
    .name = "lower-gelugrad",
    .summary = "express GeluGrad by Erf and Exp, or by Sigmoid",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_gelugrad,
    .rewrite = lower,
    .source = "Hendrycks, Gimpel, arXiv:1606.08415",
};

/*
 * lower-gelu: write Gelu out as its formula, without its cancellation.
 *
 *     tanh:             y = x * Sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))
 *     erf, x >= -1:     y = x * 0.5 * (1 + Erf(x * sqrt(1/2)))
 *     erf, x < -1:      y = x * Exp(-x^2 / 2) * p(3 / (3 - x))
 *
 * (1 + tanh(z)) / 2 is the sigmoid of 2 z.  Far below 0, where 1 + Erf cancels,
 * p is the Gaussian's tail by its density: GLOW_GELU_TAIL.  There, and where x is a
 * factor of the sigmoid, it is at least -40, so that -inf gives -0.  Each step rounds,
 * where Gelu rounds once.
 */

#include "lower/common.h"

#define ZERO_FROM (-40) /* or less: the gate is 0 in every kind */

static glow_value *
by_sigmoid(glow_builder *b, glow_value *x)
{
    glow_value *cube = glow_build_mul(b, glow_build_mul(b, x, x), x);
    glow_value *sum =
        glow_build_add(b, x, glow_lower_times(b, cube, GLOW_GELU_CUBE));

    sum = glow_lower_times(b, sum, 2 * GLOW_SQRT_2_BY_PI);
    sum = GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(sum));
    return glow_build_mul(b, glow_lower_gated(b, x, ZERO_FROM), sum);
}

static glow_value *
by_erf(glow_builder *b, glow_value *x)
{
    glow_value *y = glow_lower_times(b, x, GLOW_SQRT_HALF);

    y = glow_lower_plus(b, GLOW_BUILD_PLAIN(b, erf, GLOW_IN(y)), 1);
    return glow_build_mul(b, glow_lower_times(b, x, 0.5), y);
}

static glow_value *
by_tail(glow_builder *b, glow_value *x)
{
    static const double tail[] = GLOW_GELU_TAIL, tail64[] = GLOW_GELU_TAIL64;
    bool wide = glow_kind_get(x->type->elem)->bytes > 4;
    const double *p = wide ? tail64 : tail;
    int k = (int)(wide ? sizeof tail64 : sizeof tail) / (int)sizeof *p - 1;
    glow_value *t;

    x = glow_lower_gated(b, x, ZERO_FROM);
    t = glow_lower_over(b, 3, glow_lower_from(b, 3, x));

    glow_value *e = glow_lower_times(b, glow_build_mul(b, x, x), -0.5);
    glow_value *y = glow_lower_splat(b, x->type, p[k]);

    if (wide)
        t = glow_lower_plus(b, glow_lower_times(b, t, GLOW_GELU_TAIL64_SCALE),
                            GLOW_GELU_TAIL64_SHIFT);
    while (k-- > 0)
        y = glow_lower_plus(b, glow_build_mul(b, y, t), p[k]);
    e = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(e));
    return glow_build_mul(b, glow_build_mul(b, x, e), y);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_gelu *g = n->attrs;
    glow_value *x = n->in[0], *y, *tail;

    if (g->approximate == GLOW_GELU_TANH)
        return by_sigmoid(b, x);
    y = by_erf(b, x);
    tail = by_tail(b, x);
    return glow_build_select(b, glow_lower_below(b, x, -1), tail, y);
}

const glow_pass glow_pass_lower_gelu = {
    .name = "lower-gelu",
    .summary = "express Gelu by Erf and Exp, or by Sigmoid",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_gelu,
    .rewrite = lower,
    .source = "Hendrycks, Gimpel, arXiv:1606.08415",
};

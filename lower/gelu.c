/*
 * lower-gelu: write Gelu out as its formula.
 *
 *     erf:    y = x * 0.5 * (1 + Erf(x * sqrt(1/2)))
 *     tanh:   y = x * 0.5 * (1 + Tanh((x + x * x * x * 0.044715) * sqrt(2/pi)))
 *
 * Each step rounds, where Gelu rounds once.
 */

#include "lower/common.h"

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_BY_PI 0.79788456080286535588

static glow_value *
inner_tanh(glow_builder *b, glow_value *x)
{
    glow_value *cube = glow_lower_mul(b, glow_lower_mul(b, x, x), x);
    glow_value *sum = glow_lower_add(b, x, glow_lower_times(b, cube, 0.044715));

    sum = glow_lower_times(b, sum, SQRT_2_BY_PI);
    return GLOW_BUILD_PLAIN(b, tanh, GLOW_IN(sum));
}

static glow_value *
inner_erf(glow_builder *b, glow_value *x)
{
    x = glow_lower_times(b, x, SQRT_HALF);
    return GLOW_BUILD_PLAIN(b, erf, GLOW_IN(x));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_gelu *g = n->attrs;
    glow_value *x = n->in[0];
    glow_value *t =
        g->approximate == GLOW_GELU_TANH ? inner_tanh(b, x) : inner_erf(b, x);

    t = glow_lower_plus(b, t, 1);
    return glow_lower_mul(b, glow_lower_times(b, x, 0.5), t);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_gelu, lower);
}

const glow_pass glow_pass_lower_gelu = {
    .name = "lower-gelu",
    .summary = "express Gelu by Erf, or by Tanh",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .lowers = &glow_op_gelu,
    .run = run,
    .source = "Hendrycks, Gimpel, arXiv:1606.08415",
};

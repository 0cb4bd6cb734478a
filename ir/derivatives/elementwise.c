/*
 * Derivatives of element-wise operators: `d` times the partial derivative.
 *
 * At kinks: Relu and Abs have 0 at 0, Max and Min share evenly between equal
 * operands, Fmod takes the quotient for constant.  At borders of domains, where the
 * derivative is infinite, it counts only if `d` is not 0.
 */

#include "ir/derivatives/common.h"

#define TWO_BY_SQRT_PI 1.12837916709551257390

#define PARTIAL(id)                                \
    const glow_derivative glow_derivative_##id = { \
        .partial = id##_partial,                   \
    }
#define TRANSPOSE(id)                              \
    const glow_derivative glow_derivative_##id = { \
        .transpose = id##_transpose,               \
    }

const glow_derivative glow_derivative_zero = {.is_zero = true};

/* Linear. */

static glow_value *
copy_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)b, (void)n, (void)i;
    return d;
}
TRANSPOSE(copy);

static glow_value *
neg_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)n, (void)i;
    return glow_build_neg(b, d);
}
TRANSPOSE(neg);

static glow_value *
convertto_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return GLOW_BUILD_STATED_PLAIN(b, convertto, n->in[i]->type, GLOW_IN(d));
}
TRANSPOSE(convertto);

/* Of several operands. */

static glow_value *
add_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)b, (void)n, (void)i;
    return d;
}
PARTIAL(add);

static glow_value *
sub_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)n;
    return i == 0 ? d : glow_build_neg(b, d);
}
PARTIAL(sub);

static glow_value *
mul_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return glow_build_mul(b, d, n->in[1 - i]);
}
PARTIAL(mul);

/* d / y, and -(d / y) z for z = x / y. */
static glow_value *
div_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *q = glow_build_div(b, d, n->in[1]);

    if (i == 1)
        q = glow_build_neg(b, glow_build_mul(b, q, n->out[0]));
    return glow_grad_guarded(b, d, q);
}
PARTIAL(div);

static glow_value *
fmod_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *quotient;

    if (i == 0)
        return d;
    /* x - z is an exact multiple of y, up to a rounding. */
    quotient = glow_build_sub(b, n->in[0], n->out[0]);
    quotient = glow_build_div(b, quotient, n->in[1]);
    quotient = GLOW_BUILD_PLAIN(b, round, GLOW_IN(quotient));
    return glow_build_neg(b, glow_build_mul(b, d, quotient));
}
PARTIAL(fmod);

/* `d` where operand i is the result, half of it where both are. */
static glow_value *
choice_partial(glow_builder *b, glow_node *n, glow_value *d,
               glow_value *is_other)
{
    glow_value *ties = glow_grad_equal(b, n->in[0], n->in[1]);
    glow_value *half = glow_grad_times(b, 0.5, d);
    glow_value *zero = glow_grad_number(b, d, 0);

    return glow_build_select(b, ties, half,
                             glow_build_select(b, is_other, zero, d));
}

static glow_value *
max_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return choice_partial(b, n, d, glow_grad_below(b, n->in[i], n->in[1 - i]));
}
PARTIAL(max);

static glow_value *
min_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return choice_partial(b, n, d, glow_grad_below(b, n->in[1 - i], n->in[i]));
}
PARTIAL(min);

/*
 * By x: d y x^(y - 1), and 0 where y is 0.  By y: d z log x, and 0 where x is 0,
 * at which the power is 0 for all positive y.
 */
static glow_value *
pow_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *x = n->in[0], *y = n->in[1], *p, *at_zero;

    if (i == 0) {
        p = GLOW_BUILD_PLAIN(b, pow, GLOW_IN(x, glow_grad_plus(b, -1, y)));
        p = glow_build_mul(b, y, p);
        at_zero = glow_grad_is(b, y, 0);
    } else {
        p = glow_build_mul(b, n->out[0], glow_build_log(b, x));
        at_zero = glow_grad_is(b, x, 0);
    }
    p = glow_build_select(b, at_zero, glow_grad_number(b, p, 0), p);
    return glow_grad_guarded(b, d, glow_build_mul(b, d, p));
}
PARTIAL(pow);

static glow_value *
select_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *zero = glow_grad_number(b, d, 0);

    if (i == 0)
        return NULL;
    return i == 1 ? glow_build_select(b, n->in[0], d, zero)
                  : glow_build_select(b, n->in[0], zero, d);
}
PARTIAL(select);

/* Of one operand. */

static glow_value *
abs_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *x = n->in[i], *zero = glow_grad_number(b, x, 0);
    glow_value *below = glow_grad_below(b, x, zero);

    d = glow_build_select(b, below, glow_build_neg(b, d), d);
    zero = glow_grad_equal(b, x, zero);
    return glow_build_select(b, zero, glow_grad_number(b, d, 0), d);
}
PARTIAL(abs);

/* d / sqrt((1 - x) (1 + x)): 1 - x^2 cancels at the borders. */
static glow_value *
asin_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *x = n->in[i], *below = glow_grad_from(b, 1, x);
    glow_value *root = glow_build_mul(b, below, glow_grad_plus(b, 1, x));

    root = glow_build_sqrt(b, root);
    return glow_grad_guarded(b, d, glow_build_div(b, d, root));
}
PARTIAL(asin);

static glow_value *
acos_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return glow_build_neg(b, asin_partial(b, n, i, d));
}
PARTIAL(acos);

static glow_value *
atan_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *square = glow_build_mul(b, n->in[i], n->in[i]);

    return glow_build_div(b, d, glow_grad_plus(b, 1, square));
}
PARTIAL(atan);

static glow_value *
cos_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *sine = GLOW_BUILD_PLAIN(b, sin, GLOW_IN(n->in[i]));

    return glow_build_neg(b, glow_build_mul(b, d, sine));
}
PARTIAL(cos);

static glow_value *
sin_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return glow_build_mul(b, d, GLOW_BUILD_PLAIN(b, cos, GLOW_IN(n->in[i])));
}
PARTIAL(sin);

static glow_value *
erf_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *e = glow_build_mul(b, n->in[i], n->in[i]);

    e = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(glow_build_neg(b, e)));
    return glow_build_mul(b, d, glow_grad_times(b, TWO_BY_SQRT_PI, e));
}
PARTIAL(erf);

static glow_value *
exp_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)i;
    return glow_grad_guarded(b, d, glow_build_mul(b, d, n->out[0]));
}
PARTIAL(exp);

static glow_value *
log_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return glow_grad_guarded(b, d, glow_build_div(b, d, n->in[i]));
}
PARTIAL(log);

static glow_value *
relu_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)i;
    return GLOW_BUILD_PLAIN(b, relugrad, GLOW_IN(n->out[0], d));
}
PARTIAL(relu);

static glow_value *
relugrad_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return i == 0 ? NULL : GLOW_BUILD_PLAIN(b, relugrad, GLOW_IN(n->in[0], d));
}
PARTIAL(relugrad);

static glow_value *
sigmoid_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)i;
    return GLOW_BUILD_PLAIN(b, sigmoidgrad, GLOW_IN(n->out[0], d));
}
PARTIAL(sigmoid);

static glow_value *
sqrt_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *twice = glow_grad_times(b, 2, n->out[0]);

    (void)i;
    return glow_grad_guarded(b, d, glow_build_div(b, d, twice));
}
PARTIAL(sqrt);

static glow_value *
tanh_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)i;
    return GLOW_BUILD_PLAIN(b, tanhgrad, GLOW_IN(n->out[0], d));
}
PARTIAL(tanh);

/* Activations. */

static glow_value *
clip_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_clip *a = n->attrs;
    glow_value *x = n->in[i], *zero = glow_grad_number(b, d, 0), *out;

    out = glow_grad_below(b, x, glow_grad_number(b, x, a->min));
    d = glow_build_select(b, out, zero, d);
    out = glow_grad_below(b, glow_grad_number(b, x, a->max), x);
    return glow_build_select(b, out, zero, d);
}
PARTIAL(clip);

static glow_value *
leakyrelu_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_leakyrelu *a = n->attrs;
    glow_value *x = n->in[i], *above;

    above = glow_grad_below(b, glow_grad_number(b, x, 0), x);
    return glow_build_select(b, above, d, glow_grad_times(b, a->alpha, d));
}
PARTIAL(leakyrelu);

static glow_value *
softplus_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return glow_build_mul(b, d,
                          GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(n->in[i])));
}
PARTIAL(softplus);

static glow_value *
swish_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return GLOW_BUILD_PLAIN(b, swishgrad, GLOW_IN(n->in[i], d));
}
PARTIAL(swish);

static glow_value *
gelu_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_gelu *a = n->attrs;

    return GLOW_BUILD(b, gelugrad, GLOW_IN(n->in[i], d),
                      .approximate = a->approximate);
}
PARTIAL(gelu);

/*
 * recognize-activation: recognize activation functions in arithmetic.
 *
 *     k x (a Erf(u) + b),  k a = k b = 1/2, u = x / sqrt(2)       => Gelu(x)
 *     k x (a Tanh(u) + b), k a = k b = 1/2,
 *         u = sqrt(2 / pi) (x + 0.044715 x^3)                     => Gelu, tanh
 *     x Sigmoid(x)                                                => Swish(x)
 *         each of these also times a number, which is left for a Mul
 *     x Tanh(SoftPlus(x))                                         => Mish(x)
 *     k Clip(u, 0, h), k h = 1, k u = a x + b                => HardSigmoid
 *     k x Clip(u, 0, h), k h = 1, k u = x / 6 + 1 / 2        => HardSwish(x)
 *     Log(1 + Exp(x))                                        => SoftPlus(x)
 *     1 / (1 + Exp(-x))                                           => Sigmoid(x)
 *     x / (1 + Exp(-x)), x / (1 + Abs(x))             => Swish(x), Softsign(x)
 *     k Elu(x), k > 0                                             => Selu(x)
 *
 * The match is by a normal form of the formula: a product is a number and a set
 * of factors, a factor is a number times a function plus a number, and the
 * argument u is a polynomial of x given by its coefficients.  So all orders of
 * operands are one case, as are x / 1.4142 and x * 0.7071, x^3 by Pow and by
 * products, 0.5 before and after.  A coefficient may differ by a few roundings
 * of its element kind, since exporters compute it.
 *
 * The operator rounds once where the formula rounds at each step, and SoftPlus
 * does not overflow.  Numbers of the formula become attributes, which are
 * float: x / 6 of an integer may have been exact, and x times a sixth is not.
 * Quotients stay if a discontinuous operator follows, unless the divisor is a
 * power of two (glow/reach.h).  If inner nodes have other users, nothing is
 * rewritten, since they would stay.  PyTorch writes Gelu out before opset 20,
 * and Swish, Mish before 18 and MobileNetV3's hard functions before 14.  Glow's
 * optimizer has no such pass.
 */

#include <math.h>

#include "glow/formula.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/reach.h"

/* x (a f(c1 x + c3 x^3) + b) */
typedef struct gate {
    const glow_op *f;
    double a, b, c1, c3;
    const glow_op *op; /* the activation */
    int approximate;   /* attribute of Gelu */
} gate;

static const gate gates[] = {
    {&glow_op_erf, 0.5, 0.5, GLOW_SQRT_HALF, 0, &glow_op_gelu, GLOW_GELU_ERF},
    {&glow_op_tanh, 0.5, 0.5, GLOW_SQRT_2_BY_PI,
     GLOW_SQRT_2_BY_PI *GLOW_GELU_CUBE, &glow_op_gelu, GLOW_GELU_TANH},
    {&glow_op_sigmoid, 1, 0, 2 * GLOW_SQRT_2_BY_PI,
     2 * GLOW_SQRT_2_BY_PI *GLOW_GELU_CUBE, &glow_op_gelu, GLOW_GELU_TANH},
    {&glow_op_sigmoid, 1, 0, 1, 0, &glow_op_swish, 0},
    {&glow_op_tanh, 0.5, 0.5, 0.5, 0, &glow_op_swish, 0},
};

/* True if a f(u) + b is the gate `g` times a factor, *scale. */
static bool
fits(const gate *g, double a, double b, const glow_polynomial *u, glow_kind k,
     double *scale)
{
    *scale = glow_is_near(a, g->a, k) ? 1 : a / g->a;
    return glow_is_near(b, g->b * *scale, k) &&
           glow_is_near(u->c[1], g->c1, k) && glow_is_near(u->c[3], g->c3, k) &&
           u->c[0] == 0 && u->c[2] == 0 && isfinite(*scale);
}

static glow_value *
build_gate(glow_builder *b, const gate *g, glow_value *x, double scale)
{
    glow_value *y;

    if (g->op == &glow_op_gelu)
        y = GLOW_BUILD(b, gelu, GLOW_IN(x), .approximate = g->approximate);
    else
        y = glow_build(b, g->op, NULL, GLOW_IN(x), NULL);
    if (!y || scale == 1)
        return y;
    return GLOW_BUILD_PLAIN(b, mul, GLOW_IN(y, glow_build_like(b, y, scale)));
}

/* x * scale * (f.scale * f.x + f.shift), where f.x is a function of x */
static glow_value *
match_gate(glow_builder *b, glow_value *x, double scale, glow_affine f)
{
    const glow_node *n = f.x->def;
    glow_kind kind = x->type->elem;
    double rest;

    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        glow_polynomial u;

        if (gates[i].f != n->op)
            continue;
        if (glow_read_polynomial(n->in[0], x, &u) &&
            fits(&gates[i], scale * f.scale, scale * f.shift, &u, kind, &rest))
            return build_gate(b, &gates[i], x, rest);
    }
    return NULL;
}

/* x Tanh(SoftPlus(x)) */
static glow_value *
match_mish(glow_builder *b, glow_value *x, double scale, glow_affine f)
{
    const glow_node *tanh = glow_only_def(f.x, &glow_op_tanh);
    const glow_node *plus =
        tanh ? glow_def(tanh->in[0], &glow_op_softplus) : NULL;

    if (!plus || plus->in[0] != x || f.shift != 0 || scale * f.scale != 1)
        return NULL;
    return GLOW_BUILD_PLAIN(b, mish, GLOW_IN(x));
}

/* The operand of v = min(max(u, lo), hi). */
static glow_value *
find_clip(const glow_value *v, double *lo, double *hi)
{
    const glow_node *clip = glow_def(v, &glow_op_clip);
    const glow_node *min = glow_def(v, &glow_op_min);

    if (clip) {
        const glow_clip *c = clip->attrs;

        *lo = (double)c->min;
        *hi = (double)c->max;
        return clip->in[0];
    }
    for (int i = 0; min && i < 2; i++) {
        const glow_node *max = glow_only_def(min->in[1 - i], &glow_op_max);
        const glow_node *relu = glow_only_def(min->in[1 - i], &glow_op_relu);

        if (!glow_splat_value(min->in[i], hi))
            continue;
        *lo = 0;
        if (relu)
            return relu->in[0];
        for (int k = 0; max && k < 2; k++)
            if (glow_splat_value(max->in[k], lo))
                return max->in[1 - k];
    }
    return NULL;
}

/* True if the formula divides and a discontinuous operator follows node `n`. */
static bool
must_divide(glow_builder *b, bool divides, const glow_node *n)
{
    return divides && glow_run_reaches_jump(glow_builder_run(b), n);
}

/* Reads scale * v as a hard sigmoid of x: sets its slope and its value at 0. */
static bool
read_hard(glow_builder *b, glow_value *v, double scale, glow_value **x,
          double *a, double *c)
{
    glow_affine u;
    double lo, hi;
    const glow_hardsigmoid *h;
    const glow_node *n = glow_def(v, &glow_op_hardsigmoid);

    if (n) {
        h = n->attrs;
        *x = n->in[0];
        *a = (double)h->alpha;
        *c = (double)h->beta;
        return scale == 1;
    }
    *x = find_clip(v, &lo, &hi);
    if (!*x || lo != 0 || !glow_is_near(scale * hi, 1, v->type->elem))
        return false;
    u = glow_read_affine(*x);
    if (!glow_has_one_use(*x) || u.x == *x ||
        must_divide(b, u.divides, (*x)->def))
        u = (glow_affine){.x = *x, .scale = 1};
    *x = u.x;
    *a = scale * u.scale;
    *c = scale * u.shift;
    return isfinite(*a) && isfinite(*c);
}

static glow_value *
match_hard_swish(glow_builder *b, glow_value *x, double scale, glow_affine f)
{
    double slope, middle;
    glow_value *of;
    glow_kind kind = x->type->elem;

    if (f.shift != 0 || !glow_has_one_use(f.x) ||
        !read_hard(b, f.x, scale * f.scale, &of, &slope, &middle) || of != x ||
        !glow_is_near(slope, 1.0 / 6, kind) || !glow_is_near(middle, 0.5, kind))
        return NULL;
    return GLOW_BUILD_PLAIN(b, hardswish, GLOW_IN(x));
}

/*
 * True if `v` is representable as an attribute, a float; float64 may need more
 * digits.
 */
static bool
is_attribute(double v, glow_kind kind)
{
    return isfinite((float)v) &&
           (kind != GLOW_FLOAT64 || (double)(float)v == v);
}

/*
 * True if slope x + middle, with attributes rounded to float, is clipped at the
 * points where the formula reaches 0 and 1, so that exact results stay exact.
 */
static bool
keeps_corners(double slope, double middle)
{
    double a = (double)(float)slope, b = (double)(float)middle;

    return a * (-middle / slope) + b <= 1e-12 &&
           a * ((1 - middle) / slope) + b >= 1 - 1e-12;
}

static glow_value *
build_hard_sigmoid(glow_builder *b, glow_value *x, double slope, double middle)
{
    glow_kind kind = x->type->elem;

    if (!is_attribute(slope, kind) || !is_attribute(middle, kind) ||
        !keeps_corners(slope, middle))
        return NULL;
    return GLOW_BUILD(b, hardsigmoid, GLOW_IN(x), .alpha = (float)slope,
                      .beta = (float)middle);
}

/* Matches a product by a number: of a Clip, or of an Elu. */
static glow_value *
match_scaled(glow_builder *b, glow_value *v, double scale)
{
    const glow_node *elu = glow_only_def(v, &glow_op_elu);
    double slope, middle;
    glow_value *x;

    if (elu && scale > 0 && is_attribute(scale, v->type->elem))
        return GLOW_BUILD(b, selu, GLOW_IN(elu->in[0]),
                          .alpha = ((const glow_elu *)elu->attrs)->alpha,
                          .gamma = (float)scale);
    if (scale == 1 || !glow_has_one_use(v) ||
        !read_hard(b, v, scale, &x, &slope, &middle))
        return NULL;
    return build_hard_sigmoid(b, x, slope, middle);
}

/*
 * True if the only use of `n` is a product by a number, which is then matched
 * together with `n`.
 */
static bool
is_scaled_next(const glow_node *n)
{
    const glow_node *user = n->out[0]->uses ? n->out[0]->uses->user : NULL;
    double number;

    return glow_has_one_use(n->out[0]) && !user->pred &&
           ((user->op == &glow_op_mul &&
             (glow_splat_value(user->in[0], &number) ||
              glow_splat_value(user->in[1], &number))) ||
            (user->op == &glow_op_div &&
             glow_splat_value(user->in[1], &number)));
}

static glow_value *
match_product(glow_builder *b, glow_node *n)
{
    glow_factors p;
    glow_value *y = NULL;

    if (is_scaled_next(n) || !glow_read_factors(n, &p) ||
        must_divide(b, p.divides, n))
        return NULL;
    if (p.count == 1 && p.factor[0] != n->out[0])
        return match_scaled(b, p.factor[0], p.scale);
    for (int i = 0; p.count == 2 && i < 2 && !y; i++) {
        glow_value *x = p.factor[i];
        glow_affine f = glow_read_affine(p.factor[1 - i]);

        if (!f.x->def || f.x->def->pred || !glow_has_one_use(p.factor[1 - i]) ||
            !glow_has_one_use(f.x) || must_divide(b, f.divides, n))
            continue;
        y = match_gate(b, x, p.scale, f);
        if (!y)
            y = match_mish(b, x, p.scale, f);
        if (!y)
            y = match_hard_swish(b, x, p.scale, f);
    }
    return y;
}

/* x, if `v` is 1 + f(x) without other users, else NULL. */
static glow_value *
find_one_plus(glow_value *v, const glow_op *f)
{
    const glow_node *add = glow_only_def(v, &glow_op_add);

    for (int i = 0; add && i < 2; i++) {
        const glow_node *n = glow_only_def(add->in[1 - i], f);

        if (n && glow_is_number(add->in[i], 1))
            return n->in[0];
    }
    return NULL;
}

/* x, if `v` is -x, else NULL. */
static glow_value *
find_negated(glow_value *v)
{
    glow_affine a = glow_read_affine(v);

    return a.scale == -1 && a.shift == 0 ? a.x : NULL;
}

/* Matches top / (1 + Exp(-x)) and top / (1 + Abs(x)); `top` is NULL for 1. */
static glow_value *
match_quotient(glow_builder *b, glow_value *top, glow_value *bottom)
{
    glow_value *x = find_one_plus(bottom, &glow_op_abs);

    if (x && top == x)
        return GLOW_BUILD_PLAIN(b, softsign, GLOW_IN(x));
    x = find_one_plus(bottom, &glow_op_exp);
    x = x ? find_negated(x) : NULL;
    if (x && !top)
        return GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(x));
    return x && top == x ? GLOW_BUILD_PLAIN(b, swish, GLOW_IN(x)) : NULL;
}

static glow_value *
recognize_quotient(glow_builder *b, glow_node *n)
{
    glow_value *top = glow_is_number(n->in[0], 1) ? NULL : n->in[0];
    glow_value *y = match_quotient(b, top, n->in[1]);

    return y ? y : match_product(b, n);
}

static glow_value *
recognize_reciprocal(glow_builder *b, glow_node *n)
{
    return match_quotient(b, NULL, n->in[0]);
}

static glow_value *
recognize_log(glow_builder *b, glow_node *n)
{
    glow_value *x = find_one_plus(n->in[0], &glow_op_exp);

    return x ? GLOW_BUILD_PLAIN(b, softplus, GLOW_IN(x)) : NULL;
}

/* Matches a Clip to [0, 1] of an affine function of x. */
static glow_value *
recognize_clip(glow_builder *b, glow_node *n)
{
    double slope, middle;
    glow_value *x;

    if (!read_hard(b, n->out[0], 1, &x, &slope, &middle) ||
        (slope == 1 && middle == 0))
        return NULL;
    return build_hard_sigmoid(b, x, slope, middle);
}

static const glow_rewrite_row rows[] = {
    {&glow_op_mul, match_product},
    {&glow_op_div, recognize_quotient},
    {&glow_op_reciprocal, recognize_reciprocal},
    {&glow_op_log, recognize_log},
    {&glow_op_clip, recognize_clip},
    {&glow_op_min, recognize_clip},
    {0},
};

static bool
is_of_floats(const glow_node *n)
{
    return glow_is_float(n->out[0]->type->elem) &&
           n->in[0]->type == n->out[0]->type;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, is_of_floats);
}

const glow_pass glow_pass_recognize_activation = {
    .name = "recognize-activation",
    .summary = "recognize Gelu, Swish, Mish, HardSwish and others",
    .level = GLOW_GRAPH,
    .preserves = GLOW_PRECISION,
    .run = run,
    .source = "Hendrycks, Gimpel, arXiv:1606.08415; Howard et al., "
              "arXiv:1905.02244; ONNX Runtime, GeluFusion",
};

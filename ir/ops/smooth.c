/* Activations with exponentials. */

#include <math.h>

#include "ir/ops/apply.h"

static bool
float_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_FLOAT);
}

/* Checks attributes, for which some values are not defined. */

static bool
celu_infer(const glow_node *n, glow_type out[])
{
    const glow_celu *c = n->attrs;

    if (!(c->alpha > 0))
        return glow_reject(n, "Alpha is %g, but must be greater than 0",
                           (double)c->alpha);
    return float_infer(n, out);
}

static bool
logit_infer(const glow_node *n, glow_type out[])
{
    const glow_logit *l = n->attrs;

    if (!(l->epsilon >= 0 && l->epsilon < 0.5f))
        return glow_reject(n, "Epsilon is %g, but must be from 0 to 0.5",
                           (double)l->epsilon);
    return float_infer(n, out);
}

/*
 * Defines the operator glow_op_ID, computed by `fn(x, attributes)`; the last
 * arguments are fields of the definition.
 */
#define SMOOTH(id, text, line, checks, fn, formula, from, ...)           \
    static bool id##_eval(const glow_node *n, glow_tensor *const in[],   \
                          glow_tensor *const out[], glow_arena *scratch) \
    {                                                                    \
        (void)scratch;                                                   \
        return glow_apply_with(in[0], out[0], fn, NULL, n->attrs);       \
    }                                                                    \
    const glow_op glow_op_##id = {                                       \
        .name = text,                                                    \
        .summary = line,                                                 \
        .in = {{"Input", GLOW_TENSOR, "x: floats or quantized"}},        \
        .out = {{"Result", GLOW_TENSOR, "y, " GLOW_REAL_RESULT}},        \
        .traits = GLOW_PURE | GLOW_ELEMENTWISE,                          \
        .infer = checks##_infer,                                         \
        .eval = id##_eval,                                               \
        .inplace = {{0, 0}},                                             \
        .inplace_count = 1,                                              \
        .doc = formula,                                                  \
        .source = from,                                                  \
        __VA_ARGS__}

static double
real_softplus(double x, const void *user)
{
    (void)user;
    return (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
}

static double
real_mish(double x, const void *user)
{
    if (x == -(double)INFINITY)
        return -0.0;
    return x * tanh(real_softplus(x, user));
}

static double
real_softsign(double x, const void *user)
{
    (void)user;
    return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}

static double
real_swish(double x, const void *user)
{
    (void)user;
    if (x == -(double)INFINITY)
        return -0.0;
    return x / (1 + exp(-x));
}

static double
real_elu(double x, const void *user)
{
    const glow_elu *e = user;

    return x < 0 ? (double)e->alpha * expm1(x) : x;
}

static double
real_selu(double x, const void *user)
{
    const glow_selu *s = user;

    return (double)s->gamma * (x < 0 ? (double)s->alpha * expm1(x) : x);
}

static double
real_celu(double x, const void *user)
{
    double alpha = (double)((const glow_celu *)user)->alpha;

    return x < 0 ? alpha * expm1(x / alpha) : x;
}

SMOOTH(softplus, "SoftPlus", "a smooth Relu", float, real_softplus,
       "`y = log(1 + e^x)`.", "Glow SoftPlus; ONNX Softplus",
       .derivative = &glow_derivative_softplus);
SMOOTH(mish, "Mish", "the operand, gated by its SoftPlus", float, real_mish,
       "`y = x * tanh(log(1 + e^x))`.  -inf gives the limit, -0.",
       "Misra, arXiv:1908.08681; ONNX Mish", );
SMOOTH(softsign, "Softsign", "a sigmoid made of a fraction", float,
       real_softsign,
       "`y = x / (1 + |x|)`.  inf gives the limit, 1, and -inf -1.",
       "ONNX Softsign", );
SMOOTH(swish, "Swish", "the operand, gated by its Sigmoid", float, real_swish,
       "`y = x / (1 + e^-x)`.  -inf gives the limit, -0.",
       "Glow Swish; Ramachandran et al., arXiv:1710.05941",
       .derivative = &glow_derivative_swish);
SMOOTH(elu, "Elu", "the exponential linear unit", float, real_elu,
       "`y = Alpha * (e^x - 1)` if `x < 0`, else `x`.",
       "Clevert et al., arXiv:1511.07289; ONNX Elu",
       .attrs = {GLOW_FIELD(glow_elu, alpha, GLOW_FLOAT32,
                            "what is subtracted far from 0")});
SMOOTH(selu, "Selu", "the scaled exponential linear unit", float, real_selu,
       "`y = Gamma * Alpha * (e^x - 1)` if `x < 0`, else `Gamma * x`.",
       "Klambauer et al., arXiv:1706.02515; ONNX Selu",
       .attrs = {GLOW_FIELD(glow_selu, alpha, GLOW_FLOAT32, "as of Elu"),
                 GLOW_FIELD(glow_selu, gamma, GLOW_FLOAT32,
                            "what all is multiplied by")});
SMOOTH(celu, "Celu", "the continuously differentiable Elu", celu, real_celu,
       "`y = Alpha * (e^(x / Alpha) - 1)` if `x < 0`, else `x`.",
       "Barron, arXiv:1704.07483; ONNX Celu",
       .attrs = {GLOW_FIELD(glow_celu, alpha, GLOW_FLOAT32, "greater than 0")});
/* logit: its bounds are as the kind holds them */

typedef struct bounds {
    double least, most;
} bounds;

static double
real_logit(double x, const void *user)
{
    const bounds *b = user;

    x = glow_minimum(glow_maximum(x, b->least), b->most);
    return fabs(x - 0.5) < 0.25 ? 2 * atanh(2 * x - 1) : log(x) - log1p(-x);
}

static bool
logit_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    const glow_logit *l = n->attrs;
    const glow_type *t = out[0]->type;
    const bounds b = {glow_real_as(t, (double)l->epsilon),
                      glow_real_as(t, 1 - (double)l->epsilon)};

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_logit, NULL, &b);
}

const glow_op glow_op_logit = {
    .name = "Logit",
    .summary = "the inverse of Sigmoid",
    .in = {{"Input", GLOW_TENSOR, "x: floats or quantized"}},
    .out = {{"Result", GLOW_TENSOR, "y, " GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_logit, epsilon, GLOW_FLOAT32,
                         "how near to 0 and 1 the operand may come")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_SENSITIVE,
    .infer = logit_infer,
    .eval = logit_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = log(z / (1 - z))` with `z = min(max(x, Epsilon), 1 - "
           "Epsilon)`, the bounds as the element kind holds them.",
    .source = "Glow Logit",
};

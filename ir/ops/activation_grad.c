/* Gradients of activations by their operands: GeluGrad, SigmoidGrad, SwishGrad, TanhGrad. */

#include <math.h>

#include "ir/ops/apply.h"

static bool
float_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_FLOAT);
}

#define OF_OPERAND                             \
    {{"Input", GLOW_TENSOR, "x, the operand"}, \
     {"ResultGrad", GLOW_TENSOR,               \
      "d, the gradient by the result, of the type of Input"}}
#define OF_RESULT                              \
    {{"Output", GLOW_TENSOR, "y, the result"}, \
     {"ResultGrad", GLOW_TENSOR,               \
      "d, the gradient by the result, of the type of Output"}}

/* gelugrad */

static double
gelu_erf_grad(double x, double d)
{
    double density = GLOW_ONE_BY_SQRT_2_PI * exp(-0.5 * x * x);

    return d *
           (0.5 * erfc(-x * GLOW_SQRT_HALF) + (density > 0 ? x * density : 0));
}

static double
gelu_tanh_grad(double x, double d)
{
    double bound = glow_minimum(glow_maximum(x, -40), 40),
           square = bound * bound;
    double z = 2 * GLOW_SQRT_2_BY_PI * bound * (1 + GLOW_GELU_CUBE * square);
    double s = 1 / (1 + exp(-z)), below = 1 / (1 + exp(z));
    double slope = 2 * GLOW_SQRT_2_BY_PI * (1 + 3 * GLOW_GELU_CUBE * square);

    return d * (s + bound * s * below * slope);
}

static bool
gelugrad_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    const glow_gelugrad *g = n->attrs;

    (void)scratch;
    return glow_apply_pairs(
        in, out[0],
        g->approximate == GLOW_GELU_ERF ? gelu_erf_grad : gelu_tanh_grad, NULL);
}

static const char *const gelu_forms[] = {"erf", "tanh", NULL};

const glow_op glow_op_gelugrad = {
    .name = "GeluGrad",
    .summary = "the gradient of a loss by the operand of a Gelu",
    .in = OF_OPERAND,
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD_ENUM(glow_gelugrad, approximate, gelu_forms,
                              "which formula")},
    .defaults = &(const glow_gelugrad){.approximate = GLOW_GELU_ERF},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = gelugrad_eval,
    .inplace = {{0, 1}, {0, 0}},
    .inplace_count = 2,
    .doc =
        "erf: `d (P(x) + x p(x))`, with `P(x) = (1 + erf(x / sqrt(2))) / 2` "
        "and `p(x) = exp(-x^2 / 2) / sqrt(2 pi)`.  tanh: `d (s + x s (1 - s) "
        "z')`, with `z = 2 sqrt(2 / pi) (x + 0.044715 x^3)`, its derivative "
        "`z'`, and `s` the sigmoid of z.  Infinities give the limits.",
    .source = "Hendrycks, Gimpel, Gaussian Error Linear Units, "
              "arXiv:1606.08415",
};

/* sigmoidgrad, tanhgrad: by the result */

static double
real_sigmoidgrad(double y, double d)
{
    return d * (y * (1 - y));
}

static bool
sigmoidgrad_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    return glow_apply_pairs(in, out[0], real_sigmoidgrad, NULL);
}

const glow_op glow_op_sigmoidgrad = {
    .name = "SigmoidGrad",
    .summary = "the gradient of a loss by the operand of a Sigmoid",
    .in = OF_RESULT,
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = sigmoidgrad_eval,
    .inplace = {{0, 1}, {0, 0}},
    .inplace_count = 2,
    .doc = "`d y (1 - y)`.",
    .source = "Glow SigmoidGrad",
};

static double
real_tanhgrad(double y, double d)
{
    return d * ((1 - y) * (1 + y));
}

static bool
tanhgrad_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    return glow_apply_pairs(in, out[0], real_tanhgrad, NULL);
}

const glow_op glow_op_tanhgrad = {
    .name = "TanhGrad",
    .summary = "the gradient of a loss by the operand of a Tanh",
    .in = OF_RESULT,
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = tanhgrad_eval,
    .inplace = {{0, 1}, {0, 0}},
    .inplace_count = 2,
    .doc = "`d (1 - y) (1 + y)`.",
    .source = "Glow TanhGrad",
};

/* swishgrad */

static double
real_swishgrad(double x, double d)
{
    double bound = glow_minimum(glow_maximum(x, -1000), 1000);
    double s = 1 / (1 + exp(-bound)), below = 1 / (1 + exp(bound));

    return d * (s * (1 + bound * below));
}

static bool
swishgrad_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    return glow_apply_pairs(in, out[0], real_swishgrad, NULL);
}

const glow_op glow_op_swishgrad = {
    .name = "SwishGrad",
    .summary = "the gradient of a loss by the operand of a Swish",
    .in = OF_OPERAND,
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = swishgrad_eval,
    .inplace = {{0, 1}, {0, 0}},
    .inplace_count = 2,
    .doc = "`d s (1 + x (1 - s))`, with `s` the sigmoid of x.  Infinities give "
           "the limits.",
    .source = "Ramachandran et al., Searching for Activation Functions, "
              "arXiv:1710.05941",
};

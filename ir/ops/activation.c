/*
 * Activations by element: Clip, Gelu, HardSigmoid, HardSwish, LeakyRelu, PRelu.
 */

#include <math.h>

#include "ir/ops/apply.h"

static bool
float_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_FLOAT);
}

/* clip */

static bool
clip_infer(const glow_node *n, glow_type out[])
{
    const glow_clip *c = n->attrs;

    if (isnan(c->min) || isnan(c->max))
        return glow_reject(n,
                           "Min is %g and Max is %g, but a bound must be a "
                           "number",
                           (double)c->min, (double)c->max);
    return glow_apply_infer(n, out, GLOW_ANY_NUMBER);
}

typedef struct bounds {
    double min, max;
    int64_t least, most;
} bounds;

static double
real_clip(double x, const void *user)
{
    const bounds *b = user;

    return glow_minimum(glow_maximum(x, b->min), b->max);
}

static int64_t
int_clip(int64_t x, bool is_signed, const void *user)
{
    const bounds *b = user;

    x = glow_int_less(x, b->least, is_signed) ? b->least : x;
    return glow_int_less(b->most, x, is_signed) ? b->most : x;
}

static bool
clip_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_clip *c = n->attrs;
    const glow_type *kind = out[0]->type;
    bounds b = {
        glow_real_as(kind, (double)c->min), glow_real_as(kind, (double)c->max),
        glow_int_as(kind, (double)c->min), glow_int_as(kind, (double)c->max)};

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_clip, int_clip, &b);
}

const glow_op glow_op_clip = {
    .name = "Clip",
    .summary = "hold elements between two bounds",
    .in = {{"Input", GLOW_TENSOR, "the operand, x"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_clip, min, GLOW_FLOAT32, "the lower bound"),
              GLOW_FIELD(glow_clip, max, GLOW_FLOAT32, "the upper bound")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = clip_infer,
    .eval = clip_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = min(max(x, Min), Max)`, with the bounds as Splat makes them.  "
           "NaN stays NaN.",
    .source = "Glow Clip; ONNX Clip",
    .derivative = &glow_derivative_clip,
};

/* gelu */

static const char *const gelu_forms[] = {"erf", "tanh", NULL};

static double
gelu_erf(double x, const void *user)
{
    (void)user;
    if (x == -(double)INFINITY)
        return -0.0;
    return 0.5 * x * erfc(-x * GLOW_SQRT_HALF);
}

/* (1 + tanh(z)) / 2 is 1 / (1 + e^(-2 z)), which does not cancel. */
static double
gelu_tanh(double x, const void *user)
{
    double z = GLOW_SQRT_2_BY_PI * (x + GLOW_GELU_CUBE * x * x * x);

    (void)user;
    if (x == -(double)INFINITY)
        return -0.0;
    return x / (1 + exp(-2 * z));
}

static bool
gelu_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_gelu *g = n->attrs;

    (void)scratch;
    return glow_apply_with(
        in[0], out[0], g->approximate == GLOW_GELU_ERF ? gelu_erf : gelu_tanh,
        NULL, NULL);
}

const glow_op glow_op_gelu = {
    .name = "Gelu",
    .summary = "the Gaussian error linear unit",
    .in = {{"Input", GLOW_TENSOR, "the operand, x"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD_ENUM(glow_gelu, approximate, gelu_forms,
                              "which formula")},
    .defaults = &(const glow_gelu){.approximate = GLOW_GELU_ERF},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = gelu_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc =
        "erf: `y = x / 2 * (1 + erf(x / sqrt(2)))`.  tanh: `y = x / 2 * (1 + "
        "tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.  -inf gives the limit, "
        "-0.",
    .source = "Hendrycks, Gimpel, Gaussian Error Linear Units, "
              "arXiv:1606.08415; ONNX Gelu",
    .derivative = &glow_derivative_gelu,
};

/* hardsigmoid */

static double
real_hardsigmoid(double x, const void *user)
{
    const glow_hardsigmoid *h = user;

    x = (double)h->alpha * x + (double)h->beta;
    return glow_minimum(glow_maximum(x, 0), 1);
}

static bool
hardsigmoid_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    (void)scratch;
    return glow_apply_with(in[0], out[0], real_hardsigmoid, NULL, n->attrs);
}

const glow_op glow_op_hardsigmoid = {
    .name = "HardSigmoid",
    .summary = "a sigmoid made of three straight lines",
    .in = {{"Input", GLOW_TENSOR, "the operand, x"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_hardsigmoid, alpha, GLOW_FLOAT32, "the slope"),
              GLOW_FIELD(glow_hardsigmoid, beta, GLOW_FLOAT32,
                         "the value at 0")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = hardsigmoid_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = min(max(Alpha * x + Beta, 0), 1)`.",
    .source = "ONNX HardSigmoid",
};

/* hardswish */

static double
real_hardswish(double x, const void *user)
{
    (void)user;
    if (x == -(double)INFINITY)
        return -0.0;
    return x * glow_minimum(glow_maximum(x / 6 + 0.5, 0), 1);
}

static bool
hardswish_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    return glow_apply_with(in[0], out[0], real_hardswish, NULL, NULL);
}

const glow_op glow_op_hardswish = {
    .name = "HardSwish",
    .summary = "the operand times its hard sigmoid",
    .in = {{"Input", GLOW_TENSOR, "the operand, x"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = hardswish_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = x * min(max(x / 6 + 1 / 2, 0), 1)`.  -inf gives the limit, "
           "-0.",
    .source = "Howard et al., Searching for MobileNetV3, arXiv:1905.02244; "
              "ONNX HardSwish",
};

/* leakyrelu */

static double
real_leakyrelu(double x, const void *user)
{
    const double *alpha = user;

    return x < 0 ? x * *alpha : x;
}

static bool
leakyrelu_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_leakyrelu *l = n->attrs;
    double alpha = glow_real_as(out[0]->type, (double)l->alpha);

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_leakyrelu, NULL, &alpha);
}

const glow_op glow_op_leakyrelu = {
    .name = "LeakyRelu",
    .summary = "scale what is negative",
    .in = {{"Input", GLOW_TENSOR, "the operand, x"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_leakyrelu, alpha, GLOW_FLOAT32,
                         "what negative elements are multiplied by")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = leakyrelu_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = Alpha * x` if `x < 0`, else `x`.",
    .source = "Glow LeakyRelu; ONNX LeakyRelu",
    .derivative = &glow_derivative_leakyrelu,
};

/* prelu */

static bool
prelu_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_NUMBER);
}

static double
real_prelu(double x, double slope)
{
    return x < 0 ? x * slope : x;
}

static int64_t
int_prelu(int64_t x, int64_t slope, bool is_signed)
{
    if (!glow_int_less(x, 0, is_signed))
        return x;
    return (int64_t)((uint64_t)x * (uint64_t)slope);
}

static bool
prelu_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    return glow_apply_pairs(in, out[0], real_prelu, int_prelu);
}

const glow_op glow_op_prelu = {
    .name = "PRelu",
    .summary = "scale what is negative, each element by its own slope",
    .in = {{"Input", GLOW_TENSOR, "the operand, x"},
           {"Slope", GLOW_TENSOR, "s, of the type of Input"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = prelu_infer,
    .eval = prelu_eval,
    .inplace = {{0, 0}, {0, 1}},
    .inplace_count = 2,
    .doc = "`y = s * x` if `x < 0`, else `x`.  Integers wrap.",
    .source = "Glow PRelu; ONNX PRelu",
};

/* relugrad */

static double
real_relugrad(double y, double d)
{
    return y > 0 ? d : 0;
}

static bool
relugrad_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    return glow_apply_pairs(in, out[0], real_relugrad, NULL);
}

const glow_op glow_op_relugrad = {
    .name = "ReluGrad",
    .summary = "the gradient of a loss by the operand of a Relu",
    .in = {{"Output", GLOW_TENSOR, "y, the result of Relu"},
           {"ResultGrad", GLOW_TENSOR, "d, the gradient by it, of its type"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = float_infer,
    .eval = relugrad_eval,
    .inplace = {{0, 0}, {0, 1}},
    .inplace_count = 2,
    .doc = "`d` where `y > 0`, else 0.",
    .source = "Glow ReluGrad",
    .derivative = &glow_derivative_relugrad,
};

/* Element-wise operators of one operand. */

#include <math.h>

#include "ir/ops/apply.h"

static bool
float_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_FLOAT);
}

static bool
number_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_NUMBER);
}

static bool
int_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_INT);
}

static bool
bool_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_BOOL);
}

static double
real_neg(double x)
{
    return -x;
}

static double
real_relu(double x)
{
    return x < 0 ? 0 : x;
}

static double
real_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static int64_t
int_neg(int64_t x, bool is_signed)
{
    (void)is_signed;
    return (int64_t)(0 - (uint64_t)x);
}

static int64_t
int_abs(int64_t x, bool is_signed)
{
    return is_signed && x < 0 ? int_neg(x, is_signed) : x;
}

static int64_t
int_relu(int64_t x, bool is_signed)
{
    return is_signed && x < 0 ? 0 : x;
}

static int64_t
int_not(int64_t x, bool is_signed)
{
    (void)is_signed;
    return !x;
}

static double
real_reciprocal(double x)
{
    return 1 / x;
}

static double
real_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double
real_sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static int64_t
int_sign(int64_t x, bool is_signed)
{
    return is_signed && x < 0 ? -1 : x != 0;
}

static int64_t
int_complement(int64_t x, bool is_signed)
{
    (void)is_signed;
    return ~x;
}

/* Words for the element kinds that each infer function above accepts. */
#define float_words "floats or quantized"
#define number_words "floats, integers or quantized"
#define int_words "integers"
#define bool_words "bools"
#define float_result GLOW_REAL_RESULT
#define number_result GLOW_REAL_RESULT
#define int_result "of the type of Input"
#define bool_result "of the type of Input"

/*
 * Defines glow_op_ID with an `eval` of its own: `real` is its value for kinds of
 * float, `integer` for the others; `more` is GLOW_PRIMITIVE, or 0 for a
 * composite operator.
 */
#define UNARY(id, text, line, takes, more, real, integer, formula, from, rule) \
    static bool id##_eval(const glow_node *n, glow_tensor *const in[],         \
                          glow_tensor *const out[], glow_arena *scratch)       \
    {                                                                          \
        (void)n, (void)scratch;                                                \
        return glow_apply(in[0], out[0], real, integer);                       \
    }                                                                          \
    const glow_op glow_op_##id = {                                             \
        .name = text,                                                          \
        .summary = line,                                                       \
        .in = {{"Input", GLOW_TENSOR, "x: " takes##_words}},                   \
        .out = {{"Result", GLOW_TENSOR, "y, " takes##_result}},                \
        .traits = GLOW_PURE | GLOW_ELEMENTWISE | (more),                       \
        .infer = takes##_infer,                                                \
        .eval = id##_eval,                                                     \
        .inplace = {{0, 0}},                                                   \
        .inplace_count = 1,                                                    \
        .doc = formula,                                                        \
        .source = from,                                                        \
        .derivative = rule,                                                    \
    }

UNARY(abs, "Abs", "the absolute value", number, GLOW_PRIMITIVE, fabs, int_abs,
      "`y = |x|`.  The least signed integer stays as it is.",
      "Glow Abs; ONNX Abs", &glow_derivative_abs);
UNARY(acos, "Acos", "the arc cosine", float, GLOW_PRIMITIVE | GLOW_SENSITIVE,
      acos, NULL,
      "`y = arccos(x)` in radians, from 0 to pi: NaN for `|x| > 1`.",
      "Glow Acos; ONNX Acos", &glow_derivative_acos);
UNARY(acosh, "Acosh", "the inverse hyperbolic cosine", float, GLOW_SENSITIVE,
      acosh, NULL, "`y = arcosh(x)`: NaN for `x < 1`.", "ONNX Acosh", NULL);
UNARY(asin, "Asin", "the arc sine", float, GLOW_PRIMITIVE | GLOW_SENSITIVE,
      asin, NULL,
      "`y = arcsin(x)` in radians, from -pi/2 to pi/2: NaN for `|x| > 1`.",
      "Glow Asin; ONNX Asin", &glow_derivative_asin);
UNARY(asinh, "Asinh", "the inverse hyperbolic sine", float, GLOW_SENSITIVE,
      asinh, NULL, "`y = arsinh(x)`.", "ONNX Asinh", NULL);
UNARY(atan, "Atan", "the arc tangent", float, GLOW_PRIMITIVE, atan, NULL,
      "`y = arctan(x)` in radians, from -pi/2 to pi/2.", "Glow Atan; ONNX Atan",
      &glow_derivative_atan);
UNARY(atanh, "Atanh", "the inverse hyperbolic tangent", float, GLOW_SENSITIVE,
      atanh, NULL, "`y = artanh(x)`: NaN for `|x| > 1`, infinite for 1 and -1.",
      "ONNX Atanh", NULL);
UNARY(bitwisenot, "BitwiseNot", "the complement of each bit", int,
      GLOW_PRIMITIVE, NULL, int_complement, "`y = ~x`.",
      "Glow BitwiseNot; ONNX BitwiseNot", NULL);
UNARY(ceil, "Ceil", "round up", float, GLOW_PRIMITIVE | GLOW_DISCONTINUOUS,
      ceil, NULL, "`y` is the least integer that is not less than `x`.",
      "Glow Ceil; ONNX Ceil", &glow_derivative_zero);
UNARY(cos, "Cos", "the cosine", float, GLOW_PRIMITIVE | GLOW_SENSITIVE, cos,
      NULL, "`y = cos(x)`, x in radians.", "Glow Cos; ONNX Cos",
      &glow_derivative_cos);
UNARY(cosh, "Cosh", "the hyperbolic cosine", float, GLOW_SENSITIVE, cosh, NULL,
      "`y = (e^x + e^-x) / 2`.", "ONNX Cosh", NULL);
UNARY(erf, "Erf", "the error function", float, GLOW_PRIMITIVE, erf, NULL,
      "`y = 2 / sqrt(pi) * integral of exp(-t^2) for t from 0 to x`.",
      "Glow Erf; ONNX Erf", &glow_derivative_erf);
UNARY(exp, "Exp", "the exponential function", float,
      GLOW_PRIMITIVE | GLOW_SENSITIVE, exp, NULL, "`y = e^x`.",
      "Glow Exp; ONNX Exp", &glow_derivative_exp);
UNARY(floor, "Floor", "round down", float, GLOW_PRIMITIVE | GLOW_DISCONTINUOUS,
      floor, NULL, "`y` is the greatest integer that is not greater than `x`.",
      "Glow Floor; ONNX Floor", &glow_derivative_zero);
UNARY(log, "Log", "the natural logarithm", float,
      GLOW_PRIMITIVE | GLOW_SENSITIVE, log, NULL,
      "`y = ln(x)`: NaN for negative `x`, -inf for 0.", "Glow Log; ONNX Log",
      &glow_derivative_log);
UNARY(neg, "Neg", "the negative", number, GLOW_PRIMITIVE, real_neg, int_neg,
      "`y = -x`.  Integers wrap.", "Glow Neg; ONNX Neg", &glow_derivative_neg);
UNARY(not, "Not", "logical negation", bool, GLOW_PRIMITIVE, NULL, int_not,
      "`y = 1 - x`, of bool.", "Glow Not; ONNX Not", NULL);
UNARY(reciprocal, "Reciprocal", "one divided by the operand", float,
      GLOW_SENSITIVE, real_reciprocal, NULL, "`y = 1 / x`.",
      "Glow Reciprocal; ONNX Reciprocal", NULL);
UNARY(relu, "Relu", "drop what is negative", number, GLOW_PRIMITIVE, real_relu,
      int_relu,
      "`y = 0` if `x < 0`, else `x`.  NaN stays NaN, and -0 stays -0.",
      "Glow Relu; ONNX Relu", &glow_derivative_relu);
UNARY(round, "Round", "round to the nearest integer", float,
      GLOW_PRIMITIVE | GLOW_DISCONTINUOUS, rint, NULL,
      "`y` is the integer nearest to `x`, the even one of two.",
      "Glow Round; ONNX Round", &glow_derivative_zero);
UNARY(rsqrt, "Rsqrt", "one divided by the square root", float, GLOW_SENSITIVE,
      real_rsqrt, NULL, "`y = 1 / sqrt(x)`: NaN for negative `x`.",
      "Glow Rsqrt", NULL);
UNARY(sigmoid, "Sigmoid", "the logistic function", float, GLOW_PRIMITIVE,
      real_sigmoid, NULL, "`y = 1 / (1 + e^-x)`.", "Glow Sigmoid; ONNX Sigmoid",
      &glow_derivative_sigmoid);
UNARY(sign, "Sign", "the sign", number, GLOW_DISCONTINUOUS, real_sign, int_sign,
      "`y` is 1 if `x > 0`, -1 if `x < 0`, else `x` itself: 0 or NaN.",
      "Glow Sign; ONNX Sign", &glow_derivative_zero);
UNARY(sin, "Sin", "the sine", float, GLOW_PRIMITIVE | GLOW_SENSITIVE, sin, NULL,
      "`y = sin(x)`, x in radians.", "Glow Sin; ONNX Sin",
      &glow_derivative_sin);
UNARY(sinh, "Sinh", "the hyperbolic sine", float, GLOW_SENSITIVE, sinh, NULL,
      "`y = (e^x - e^-x) / 2`.", "ONNX Sinh", NULL);
UNARY(sqrt, "Sqrt", "the square root", float, GLOW_PRIMITIVE, sqrt, NULL,
      "`y = sqrt(x)`: NaN for negative `x`.", "Glow Sqrt; ONNX Sqrt",
      &glow_derivative_sqrt);
UNARY(tan, "Tan", "the tangent", float, GLOW_SENSITIVE, tan, NULL,
      "`y = tan(x)`, x in radians.", "ONNX Tan", NULL);
UNARY(tanh, "Tanh", "the hyperbolic tangent", float, GLOW_PRIMITIVE, tanh, NULL,
      "`y = tanh(x)`.", "Glow Tanh; ONNX Tanh", &glow_derivative_tanh);
UNARY(truncate, "Truncate", "round toward zero", float,
      GLOW_PRIMITIVE | GLOW_DISCONTINUOUS, trunc, NULL,
      "`y` is `x` without its fraction.", "Glow Truncate",
      &glow_derivative_zero);

/* copy */

static bool
copy_infer(const glow_node *n, glow_type out[])
{
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
copy_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    (void)n, (void)scratch;
    if (in[0]->data != out[0]->data)
        glow_tensor_copy(out[0], in[0]);
    return true;
}

const glow_op glow_op_copy = {
    .name = "Copy",
    .summary = "copy a tensor to a buffer of its own",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "the elements of Input"}},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_ELEMENTWISE | GLOW_PRIMITIVE,
    .infer = copy_infer,
    .eval = copy_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = x`.  What Save becomes in a program, where it writes a buffer "
           "that others can see.",
    .source = "Glow Copy; ONNX Identity",
    .derivative = &glow_derivative_copy,
};

/*
 * Operators of one operand, element by element.
 */

#include <math.h>

#include "ir/ops/common.h"

static bool
float_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_ANY_FLOAT) &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
number_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_ANY_NUMBER) &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
bool_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_ANY_BOOL) &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

typedef double (*real_fn)(double x);
typedef int64_t (*int_fn)(int64_t x, bool is_signed);

static void
map_real(const glow_tensor *in, const glow_tensor *out, real_fn fn)
{
    int64_t count = glow_tensor_count(out);
    double v[GLOW_CHUNK];

    for (int64_t i = 0; i < count; i += GLOW_CHUNK) {
        int64_t m = count - i < GLOW_CHUNK ? count - i : GLOW_CHUNK;

        glow_load(in, i, m, v);
        for (int64_t j = 0; j < m; j++)
            v[j] = fn(v[j]);
        glow_store(out, i, m, v);
    }
}

static void
map_int(const glow_tensor *in, const glow_tensor *out, int_fn fn)
{
    int64_t count = glow_tensor_count(out);
    bool is_signed = glow_tensor_is_signed(in);

    for (int64_t i = 0; i < count; i++)
        glow_set_int(out, i, fn(glow_get_int(in, i), is_signed));
}

static bool
map(const glow_tensor *in, const glow_tensor *out, real_fn real, int_fn integer)
{
    if (glow_tensor_is_float(in))
        map_real(in, out, real);
    else
        map_int(in, out, integer);
    return true;
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

/* What each of the infer functions above admits. */
#define float_words "floats"
#define number_words "floats or integers"
#define bool_words "bools"

/*
 * Defines glow_op_ID with an `eval` of its own: `real` is what it means for the
 * kinds of float, `integer` for the others.
 */
#define UNARY(id, text, line, takes, real, integer, formula, from)       \
    static bool id##_eval(const glow_node *n, glow_tensor *const in[],   \
                          glow_tensor *const out[], glow_arena *scratch) \
    {                                                                    \
        (void)n, (void)scratch;                                          \
        return map(in[0], out[0], real, integer);                        \
    }                                                                    \
    const glow_op glow_op_##id = {                                       \
        .name = text,                                                    \
        .summary = line,                                                 \
        .in = {{"Input", GLOW_TENSOR, "x: " takes##_words}},             \
        .out = {{"Result", GLOW_TENSOR, "y, of the type of Input"}},     \
        .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE,         \
        .infer = takes##_infer,                                          \
        .eval = id##_eval,                                               \
        .inplace = {{0, 0}},                                             \
        .inplace_count = 1,                                              \
        .doc = formula,                                                  \
        .source = from,                                                  \
    }

UNARY(abs, "Abs", "the absolute value", number, fabs, int_abs,
      "`y = |x|`.  The least signed integer stays as it is.",
      "Glow Abs; ONNX Abs");
UNARY(ceil, "Ceil", "round up", float, ceil, NULL,
      "`y` is the least integer that is not less than `x`.",
      "Glow Ceil; ONNX Ceil");
UNARY(cos, "Cos", "the cosine", float, cos, NULL, "`y = cos(x)`, x in radians.",
      "Glow Cos; ONNX Cos");
UNARY(erf, "Erf", "the error function", float, erf, NULL,
      "`y = 2 / sqrt(pi) * integral of exp(-t^2) for t from 0 to x`.",
      "Glow Erf; ONNX Erf");
UNARY(exp, "Exp", "the exponential function", float, exp, NULL, "`y = e^x`.",
      "Glow Exp; ONNX Exp");
UNARY(floor, "Floor", "round down", float, floor, NULL,
      "`y` is the greatest integer that is not greater than `x`.",
      "Glow Floor; ONNX Floor");
UNARY(log, "Log", "the natural logarithm", float, log, NULL,
      "`y = ln(x)`: NaN for negative `x`, -inf for 0.", "Glow Log; ONNX Log");
UNARY(neg, "Neg", "the negative", number, real_neg, int_neg,
      "`y = -x`.  Integers wrap.", "Glow Neg; ONNX Neg");
UNARY(not, "Not", "logical negation", bool, NULL, int_not,
      "`y = 1 - x`, of bool.", "Glow Not; ONNX Not");
UNARY(relu, "Relu", "drop what is negative", number, real_relu, int_relu,
      "`y = 0` if `x < 0`, else `x`.  NaN stays NaN, and -0 stays -0.",
      "Glow Relu; ONNX Relu");
UNARY(round, "Round", "round to the nearest integer", float, rint, NULL,
      "`y` is the integer nearest to `x`, the even one of two.",
      "Glow Round; ONNX Round");
UNARY(sigmoid, "Sigmoid", "the logistic function", float, real_sigmoid, NULL,
      "`y = 1 / (1 + e^-x)`.", "Glow Sigmoid; ONNX Sigmoid");
UNARY(sin, "Sin", "the sine", float, sin, NULL, "`y = sin(x)`, x in radians.",
      "Glow Sin; ONNX Sin");
UNARY(sqrt, "Sqrt", "the square root", float, sqrt, NULL,
      "`y = sqrt(x)`: NaN for negative `x`.", "Glow Sqrt; ONNX Sqrt");
UNARY(tanh, "Tanh", "the hyperbolic tangent", float, tanh, NULL,
      "`y = tanh(x)`.", "Glow Tanh; ONNX Tanh");

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
};

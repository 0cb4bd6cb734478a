/*
 * Operators of two or three operands of one shape, element by element.
 * Broadcasting is written out: see Broadcast.
 */

#include <math.h>

#include "glow/quantize.h"

#include "ir/ops/apply.h"

static bool
number_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_NUMBER);
}

static bool
bool_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_BOOL);
}

static bool
order_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_admit(n, GLOW_ANY_NUMBER) &&
           glow_give(n, glow_rekinded(n->in[0]->type, GLOW_BOOL), &out[0]);
}

static bool
equality_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_admit(n, GLOW_ANY_PLAIN) &&
           glow_give(n, glow_rekinded(n->in[0]->type, GLOW_BOOL), &out[0]);
}

static double
real_add(double x, double y)
{
    return x + y;
}

static int64_t
int_add(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static double
real_sub(double x, double y)
{
    return x - y;
}

static int64_t
int_sub(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return (int64_t)((uint64_t)x - (uint64_t)y);
}

static double
real_mul(double x, double y)
{
    return x * y;
}

static int64_t
int_mul(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static double
real_div(double x, double y)
{
    return x / y;
}

static int64_t
int_div(int64_t x, int64_t y, bool is_signed)
{
    if (y == 0)
        return 0;
    if (!is_signed)
        return (int64_t)((uint64_t)x / (uint64_t)y);
    if (y == -1)
        return int_sub(0, x, true);
    return x / y;
}

static int64_t
int_max(int64_t x, int64_t y, bool is_signed)
{
    return glow_int_less(x, y, is_signed) ? y : x;
}

static int64_t
int_min(int64_t x, int64_t y, bool is_signed)
{
    return glow_int_less(y, x, is_signed) ? y : x;
}

/* x^y by squaring; 1 / x^-y, cut to an integer, for negative y. */
static int64_t
int_pow(int64_t x, int64_t y, bool is_signed)
{
    uint64_t power = 1, square = (uint64_t)x, left = (uint64_t)y;

    if (is_signed && y < 0)
        return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    for (; left; left >>= 1) {
        if (left & 1)
            power *= square;
        square *= square;
    }
    return (int64_t)power;
}

static int64_t
int_and(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return x && y;
}

static int64_t
int_or(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return x || y;
}

static int64_t
int_xor(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return !x != !y;
}

static double
real_eq(double x, double y)
{
    return x == y;
}

static int64_t
int_eq(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return x == y;
}

static double
real_neq(double x, double y)
{
    return x != y;
}

static int64_t
int_neq(int64_t x, int64_t y, bool is_signed)
{
    (void)is_signed;
    return x != y;
}

static double
real_lt(double x, double y)
{
    return x < y;
}

static double
real_lte(double x, double y)
{
    return x <= y;
}

static int64_t
int_lte(int64_t x, int64_t y, bool is_signed)
{
    return !glow_int_less(y, x, is_signed);
}

static int64_t
int_lt(int64_t x, int64_t y, bool is_signed)
{
    return glow_int_less(x, y, is_signed);
}

/* Comparisons of the reals in float64, which holds those of 8 and 16 bits exactly. */
static bool
apply_reals(glow_tensor *const in[], const glow_tensor *out, glow_real2 fn)
{
    int64_t count = glow_tensor_count(out);

    for (int64_t i = 0; i < count; i++)
        glow_set_int(
            out, i,
            (int64_t)fn(glow_get_real(in[0], i), glow_get_real(in[1], i)));
    return true;
}

/* As glow_apply_pairs; quantized elements by `g`, or as their reals if it is NULL. */
static bool
apply_pairs(glow_tensor *const in[], const glow_tensor *out, glow_real2 real,
            glow_int2 integer, const glow_grid_fn *g)
{
    if (!glow_is_quantized(in[0]->type->elem))
        return glow_apply_pairs(in, out, real, integer);
    if (!glow_is_quantized(out->type->elem))
        return apply_reals(in, out, real);
    return g ? glow_grid_apply(in, out, g)
             : glow_apply_pairs(in, out, real, integer);
}

/* Of the operators whose result in float is exact or rounded once. */
#define REALS                                                                \
    "  Quantized: `z = sat(rint(v / scale) + offset)` in float, where v is " \
    "the "                                                                   \
    "result for the floats that Dequantize makes; in float64 where Result "  \
    "has "                                                                   \
    "32 bits."

#define COMPARES \
    "  Quantized elements compare as `scale * (q - offset)` in float64."

/* Words for the element kinds that each infer function above accepts. */
#define number_words "floats, integers or quantized"
#define order_words "floats, integers or quantized"
#define equality_words "floats, integers, bools or quantized"
#define bool_words "bools"
#define number_result ", or the stated quantized type"
#define order_result ""
#define equality_result ""
#define bool_result ""

/*
 * Defines glow_op_ID with an `eval` of its own: `real` is what it means for the
 * kinds of float, `integer` for the others.  `pairs` is how many operands may
 * give their buffer to the result.  `g` computes quantized elements, or is NULL.
 */
#define BINARY(id, text, line, takes, pairs, more, real, integer, g, formula, \
               from, rule)                                                    \
    static bool id##_eval(const glow_node *n, glow_tensor *const in[],        \
                          glow_tensor *const out[], glow_arena *scratch)      \
    {                                                                         \
        (void)n, (void)scratch;                                               \
        return apply_pairs(in, out[0], real, integer, g);                     \
    }                                                                         \
    const glow_op glow_op_##id = {                                            \
        .name = text,                                                         \
        .summary = line,                                                      \
        .in = {{"LHS", GLOW_TENSOR, "x: " takes##_words},                     \
               {"RHS", GLOW_TENSOR,                                           \
                "y, of the same type, but for scale and offset"}},            \
        .out = {{"Result", GLOW_TENSOR,                                       \
                 "z, of the same shape" takes##_result}},                     \
        .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE | (more),     \
        .infer = takes##_infer,                                               \
        .eval = id##_eval,                                                    \
        .inplace = {{0, 0}, {0, 1}},                                          \
        .inplace_count = pairs,                                               \
        .doc = formula,                                                       \
        .source = from,                                                       \
        .derivative = rule,                                                   \
    }

BINARY(add, "Add", "add two tensors", number, 2, GLOW_COMMUTATIVE, real_add,
       int_add, &glow_grid_add,
       "`z = x + y`.  Integers wrap.  Quantized: `z = sat(rint((a * m) + (b * "
       "n)) + offset)`, where a and b are the elements less their offsets, m "
       "and n the scales of LHS and RHS divided by that of Result; each "
       "operation in float where all kinds have 8 or 16 bits, else in float64.",
       "Glow Add; ONNX Add", &glow_derivative_add);
BINARY(sub, "Sub", "subtract one tensor from another", number, 2, 0, real_sub,
       int_sub, &glow_grid_sub,
       "`z = x - y`.  Integers wrap.  Quantized: as Add, with `(a * m) - (b * "
       "n)`.",
       "Glow Sub; ONNX Sub", &glow_derivative_sub);
BINARY(mul, "Mul", "multiply two tensors", number, 2, GLOW_COMMUTATIVE,
       real_mul, int_mul, &glow_grid_mul,
       "`z = x * y`.  Integers wrap.  Quantized: as Add, with `(a * b) * m`, "
       "where m is the product of the scales of LHS and RHS divided by the "
       "scale of Result.",
       "Glow Mul; ONNX Mul", &glow_derivative_mul);
BINARY(
    div, "Div", "divide one tensor by another", number, 2, 0, real_div, int_div,
    NULL,
    "`z = x / y`.  Integers are cut toward zero; `x / 0` is 0, and the least "
    "one divided by -1 wraps to itself." REALS,
    "Glow Div; ONNX Div", &glow_derivative_div);
BINARY(max, "Max", "the greater of two elements", number, 2, GLOW_COMMUTATIVE,
       glow_maximum, int_max, NULL,
       "`z = max(x, y)`: NaN if either is, and +0 of -0 and +0." REALS,
       "Glow Max; ONNX Max; IEEE 754-2019 maximum", &glow_derivative_max);
BINARY(min, "Min", "the lesser of two elements", number, 2, GLOW_COMMUTATIVE,
       glow_minimum, int_min, NULL,
       "`z = min(x, y)`: NaN if either is, and -0 of -0 and +0." REALS,
       "Glow Min; ONNX Min; IEEE 754-2019 minimum", &glow_derivative_min);
BINARY(pow, "Pow", "raise to a power", number, 2, GLOW_SENSITIVE, pow, int_pow,
       NULL,
       "`z = x^y`.  Integers wrap; for a negative `y` they give `1 / x^-y` cut "
       "toward zero, and 0 where `x` is 0.  Quantized: `sat(rint((float)(x^y) "
       "/ scale) + offset)`, with `x^y` in float64 of the floats that "
       "Dequantize makes.",
       "Glow Pow; ONNX Pow; C11 pow", &glow_derivative_pow);
BINARY(and, "And", "logical and", bool, 2, GLOW_COMMUTATIVE, NULL, int_and,
       NULL, "`z = x and y`, of bool.", "Glow And; ONNX And", NULL);
BINARY(or, "Or", "logical or", bool, 2, GLOW_COMMUTATIVE, NULL, int_or, NULL,
       "`z = x or y`, of bool.", "Glow Or; ONNX Or", NULL);
BINARY(xor, "Xor", "logical exclusive or", bool, 2, GLOW_COMMUTATIVE, NULL,
       int_xor, NULL, "`z = x != y`, of bool.", "Glow Xor; ONNX Xor", NULL);
BINARY(cmpeq, "CmpEQ", "whether elements are equal", equality, 0,
       GLOW_COMMUTATIVE, real_eq, int_eq, NULL,
       "`z = (x == y)`, of bool.  NaN equals nothing." COMPARES,
       "Glow CmpEQ; ONNX Equal", NULL);
BINARY(cmpneq, "CmpNEQ", "whether elements differ", equality, 0,
       GLOW_COMMUTATIVE, real_neq, int_neq, NULL,
       "`z = (x != y)`, of bool.  NaN differs from all." COMPARES,
       "Glow CmpNEQ", NULL);
BINARY(cmplt, "CmpLT", "whether elements are less", order, 0, 0, real_lt,
       int_lt, NULL, "`z = (x < y)`, of bool: false for NaN." COMPARES,
       "Glow CmpLT; ONNX Less", NULL);
BINARY(cmplte, "CmpLTE", "whether elements are less or equal", order, 0, 0,
       real_lte, int_lte, NULL,
       "`z = (x <= y)`, of bool: false for NaN." COMPARES,
       "Glow CmpLTE; ONNX LessOrEqual", NULL);

/* select */

static bool
select_infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[1]->type;
    bool quantized = glow_is_quantized(x->elem) &&
                     (out->elem != GLOW_NO_KIND || n->in[2]->type != x);

    if (!glow_admit(n, 0, GLOW_ANY_BOOL) ||
        !glow_admit(n, 1, GLOW_ANY_UNFUSED) || !glow_check_shapes(n, 1, 0))
        return false;
    if (quantized)
        return glow_admit(n, 2, GLOW_CLASS_QUANTIZED) &&
               glow_check_shapes(n, 2, 1) &&
               glow_give_quantized(n, x->shape, &out[0]);
    return glow_check_types(n, 2, 1) && glow_give(n, glow_dense(x), &out[0]);
}

static bool
same_grid(const glow_type *x, const glow_type *y)
{
    return x->elem == y->elem && x->scale == y->scale && x->offset == y->offset;
}

static bool
select_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    int64_t count = glow_tensor_count(out[0]);
    glow_dims one = {0};

    (void)n, (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        const glow_tensor *x = in[glow_get_int(in[0], i) ? 1 : 2];

        if (same_grid(x->type, out[0]->type))
            glow_copy_block(out[0], i, one, x, i, one, one);
        else
            glow_set_int(
                out[0], i,
                glow_rescale(x->type, out[0]->type, glow_get_int(x, i)));
    }
    return true;
}

const glow_op glow_op_select = {
    .name = "Select",
    .summary = "take each element from one of two tensors",
    .in = {{"Cond", GLOW_TENSOR, "bool: which to take"},
           {"LHS", GLOW_TENSOR, "taken where Cond is true"},
           {"RHS", GLOW_TENSOR, "taken where Cond is false"}},
    .out = {{"Result", GLOW_TENSOR,
             "the type of LHS and RHS; of quantized ones, the stated type, if "
             "any"}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE,
    .infer = select_infer,
    .eval = select_eval,
    .inplace = {{0, 1}, {0, 2}},
    .inplace_count = 2,
    .doc =
        "`z = x` where `Cond`, else `y`.  Quantized elements are rescaled to "
        "Result as RescaleQuantized does it.",
    .source = "Glow Select; ONNX Where",
    .derivative = &glow_derivative_select,
};

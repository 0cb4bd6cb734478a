/* Operators of a tensor and scalar attributes. */

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

/* A scalar attribute, converted to the element kind of the operand. */
typedef struct number {
    double real;
    int64_t integer;
} number;

static number
number_as(const glow_type *t, float v)
{
    return (number){glow_real_as(t, (double)v), glow_int_as(t, (double)v)};
}

/* mulconst, rsubconst */

static double
real_mulconst(double x, const void *user)
{
    return ((const number *)user)->real * x;
}

static int64_t
int_mulconst(int64_t x, bool is_signed, const void *user)
{
    (void)is_signed;
    return (int64_t)((uint64_t)((const number *)user)->integer * (uint64_t)x);
}

static bool
mulconst_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    const glow_mulconst *m = n->attrs;
    const number c = number_as(out[0]->type, m->lhs);

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_mulconst, int_mulconst, &c);
}

const glow_op glow_op_mulconst = {
    .name = "MulConst",
    .summary = "multiply by a number",
    .in = {{"RHS", GLOW_TENSOR, "x: floats, integers or quantized"}},
    .out = {{"Result", GLOW_TENSOR,
             "the type of RHS, or the stated quantized type"}},
    .attrs = {GLOW_FIELD(glow_mulconst, lhs, GLOW_FLOAT32, "the number")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = number_infer,
    .eval = mulconst_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = Lhs * x`, with Lhs as Splat makes it.  Integers wrap.",
    .source = "Glow MulConst",
};

static double
real_rsubconst(double x, const void *user)
{
    return ((const number *)user)->real - x;
}

static int64_t
int_rsubconst(int64_t x, bool is_signed, const void *user)
{
    (void)is_signed;
    return (int64_t)((uint64_t)((const number *)user)->integer - (uint64_t)x);
}

static bool
rsubconst_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_rsubconst *r = n->attrs;
    const number c = number_as(out[0]->type, r->lhs);

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_rsubconst, int_rsubconst, &c);
}

const glow_op glow_op_rsubconst = {
    .name = "RsubConst",
    .summary = "subtract from a number",
    .in = {{"RHS", GLOW_TENSOR, "x: floats, integers or quantized"}},
    .out = {{"Result", GLOW_TENSOR,
             "the type of RHS, or the stated quantized type"}},
    .attrs = {GLOW_FIELD(glow_rsubconst, lhs, GLOW_FLOAT32, "the number")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = number_infer,
    .eval = rsubconst_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = Lhs - x`, with Lhs as Splat makes it.  Integers wrap.",
    .source = "Glow RsubConst",
};

/* shrink */

typedef struct shrinking {
    double low, high, bias;
} shrinking;

static double
real_shrink(double x, const void *user)
{
    const shrinking *s = user;

    if (isnan(x))
        return x;
    return x < s->low ? x + s->bias : x > s->high ? x - s->bias : 0;
}

static bool
shrink_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    const glow_shrink *a = n->attrs;
    const glow_type *t = out[0]->type;
    double lambd = glow_real_as(t, (double)a->lambd);
    const shrinking s = {-lambd, lambd, glow_real_as(t, (double)a->bias)};

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_shrink, NULL, &s);
}

const glow_op glow_op_shrink = {
    .name = "Shrink",
    .summary = "drop what is small, and draw the rest toward zero",
    .in = {{"Input", GLOW_TENSOR, "x: floats or quantized"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_shrink, lambd, GLOW_FLOAT32, "what is small"),
              GLOW_FIELD(glow_shrink, bias, GLOW_FLOAT32,
                         "by how much the rest is drawn")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_DISCONTINUOUS,
    .infer = float_infer,
    .eval = shrink_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc =
        "`y = x + Bias` if `x < -Lambd`, `x - Bias` if `x > Lambd`, else 0.  "
        "NaN stays NaN.",
    .source = "ONNX Shrink",
};

/* thresholdedrelu */

static double
real_thresholded(double x, const void *user)
{
    const double *alpha = user;

    return x > *alpha || isnan(x) ? x : 0;
}

static bool
thresholdedrelu_eval(const glow_node *n, glow_tensor *const in[],
                     glow_tensor *const out[], glow_arena *scratch)
{
    const glow_thresholdedrelu *t = n->attrs;
    double alpha = glow_real_as(out[0]->type, (double)t->alpha);

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_thresholded, NULL, &alpha);
}

const glow_op glow_op_thresholdedrelu = {
    .name = "ThresholdedRelu",
    .summary = "drop what is not above a threshold",
    .in = {{"Input", GLOW_TENSOR, "x: floats or quantized"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_thresholdedrelu, alpha, GLOW_FLOAT32,
                         "the threshold")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_DISCONTINUOUS,
    .infer = float_infer,
    .eval = thresholdedrelu_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = x` if `x > Alpha`, else 0.  NaN stays NaN.",
    .source = "ONNX ThresholdedRelu",
};

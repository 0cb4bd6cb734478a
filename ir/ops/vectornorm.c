/* Reductions that are lowered to others: norms and logarithms of sums. */

#include <math.h>

#include "ir/ops/reduce.h"

static bool
float_infer(const glow_node *n, glow_type out[])
{
    const glow_reduce *r = n->attrs;

    return glow_reduce_infer(n, out, r->axes, GLOW_ANY_FLOAT);
}

static bool
number_infer(const glow_node *n, glow_type out[])
{
    const glow_reduce *r = n->attrs;

    return glow_reduce_infer(n, out, r->axes, GLOW_ANY_NUMBER);
}

static double
real_add(double sum, double x)
{
    return sum + x;
}

static double
real_add_abs(double sum, double x)
{
    return sum + fabs(x);
}

static double
real_add_square(double sum, double x)
{
    return sum + x * x;
}

/* log(e^sum + e^x), without overflow of an exponential. */
static double
real_add_exp(double sum, double x)
{
    double most = glow_maximum(sum, x);

    return isinf(most) ? most : most + log1p(exp(-fabs(sum - x)));
}

static int64_t
int_add_abs(int64_t sum, int64_t x, bool is_signed)
{
    uint64_t magnitude = (uint64_t)x;

    if (is_signed && x < 0)
        magnitude = 0 - magnitude;
    return (int64_t)((uint64_t)sum + magnitude);
}

static int64_t
int_add_square(int64_t sum, int64_t x, bool is_signed)
{
    (void)is_signed;
    return (int64_t)((uint64_t)sum + (uint64_t)x * (uint64_t)x);
}

static double
root(double sum, double count)
{
    (void)count;
    return sqrt(sum);
}

static double
logarithm(double sum, double count)
{
    (void)count;
    return log(sum);
}

/* Words for the element kinds that each infer function above accepts. */
#define float_words "floats or quantized"
#define number_words "floats, integers or quantized"

GLOW_REDUCE(batchedreducesumsquare, "BatchedReduceSumSquare",
            "the sum of squares along axes", number,
            GLOW_REDUCTION | GLOW_SENSITIVE,
            "The sum of `x^2`; of nothing 0.  Integers wrap.",
            "Glow BatchedReduceSumSquare; ONNX ReduceSumSquare", NULL, 0,
            real_add_square, int_add_square, NULL);
GLOW_REDUCE(reducel1, "ReduceL1", "the sum of magnitudes along axes", number,
            GLOW_REDUCTION | GLOW_SENSITIVE,
            "The sum of `|x|`; of nothing 0.  Integers wrap.", "ONNX ReduceL1",
            NULL, 0, real_add_abs, int_add_abs, NULL);
GLOW_REDUCE(reducel2, "ReduceL2", "the Euclidean norm along axes", float,
            GLOW_REDUCTION | GLOW_SENSITIVE,
            "The square root of the sum of `x^2`; of nothing 0.",
            "ONNX ReduceL2", &glow_derivative_reducel2, 0, real_add_square,
            NULL, root);
GLOW_REDUCE(reducelogsum, "ReduceLogSum", "the logarithm of the sum along axes",
            float, GLOW_REDUCTION | GLOW_SENSITIVE,
            "The logarithm of the sum; of nothing -inf.", "ONNX ReduceLogSum",
            NULL, 0, real_add, NULL, logarithm);
GLOW_REDUCE(reducelogsumexp, "ReduceLogSumExp",
            "the logarithm of the sum of exponentials along axes", float,
            GLOW_REDUCTION | GLOW_SENSITIVE,
            "`log(sum of e^x)`, of which nothing overflows on the way; of "
            "nothing -inf.",
            "ONNX ReduceLogSumExp", &glow_derivative_reducelogsumexp, -INFINITY,
            real_add_exp, NULL, NULL);

/* vectornorm */

static bool
vectornorm_infer(const glow_node *n, glow_type out[])
{
    const glow_vectornorm *v = n->attrs;

    if (!glow_check_axis(n, "Axis", v->axis, 0))
        return false;
    if (v->p < 1)
        return glow_reject(n, "P is %d, but must be at least 1", v->p);
    return glow_admit(n, 0, GLOW_ANY_FLOAT) &&
           glow_reduce_infer(n, out, GLOW_DIMS_OF(v->axis), GLOW_ANY_FLOAT);
}

/* |x|^p of all elements, allocated in `scratch`. */
static glow_tensor
powers(const glow_tensor *in, int p, glow_arena *scratch)
{
    glow_type *type = GLOW_NEW_ARRAY(scratch, glow_type, 1);
    double *v = glow_load_all(in, scratch);
    int64_t count = glow_tensor_count(in);

    *type = glow_type_of(GLOW_FLOAT64, in->type->shape);
    for (int64_t i = 0; i < count; i++)
        v[i] = pow(fabs(v[i]), p);
    return (glow_tensor){.type = type, .data = v};
}

static bool
vectornorm_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    static const glow_reducer add = {0, real_add, NULL, NULL};
    const glow_vectornorm *v = n->attrs;
    int64_t count = glow_tensor_count(out[0]);
    glow_tensor x = powers(in[0], v->p, scratch), y;
    glow_type type = glow_type_of(GLOW_FLOAT64, out[0]->type->shape);

    y = (glow_tensor){.type = &type,
                      .data = GLOW_NEW_ARRAY(scratch, double, count)};
    glow_reduce_by(&add, &x, &y, GLOW_DIMS_OF(v->axis), scratch);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(out[0], i, pow(glow_get_double(&y, i), 1.0 / v->p));
    return true;
}

const glow_op glow_op_vectornorm = {
    .name = "VectorNorm",
    .summary = "the norm of vectors along an axis",
    .in = {{"Input", GLOW_TENSOR, "x: floats"}},
    .out = {{"Result", GLOW_TENSOR, "the shape of Input without Axis"}},
    .attrs = {GLOW_FIELD(glow_vectornorm, axis, GLOW_INT, "of the vectors"),
              GLOW_FIELD(glow_vectornorm, p, GLOW_INT, "at least 1")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = vectornorm_infer,
    .eval = vectornorm_eval,
    .doc = "`(sum of |x|^P)^(1 / P)`.",
    .source = "Glow VectorNorm",
};

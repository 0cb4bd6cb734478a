/* Reductions of tensors along axes. */

#include <math.h>

#include "ir/ops/reduce.h"

bool
glow_reduce_infer(const glow_node *n, glow_type out[], glow_dims axes,
                  int classes)
{
    glow_dims x = n->in[0]->type->shape, y = {0};
    int next = 0;

    if (!glow_admit_real(n, 0, classes))
        return false;
    for (int i = 0; i < axes.rank; i++) {
        if (!glow_check_axis(n, "an element of Axes", axes.at[i], 0))
            return false;
        if (i > 0 && axes.at[i] <= axes.at[i - 1])
            return glow_reject(
                n, "Axes names %" PRId64 " after %" PRId64 ", but must ascend",
                axes.at[i], axes.at[i - 1]);
    }
    for (int i = 0; i < x.rank; i++)
        if (next < axes.rank && axes.at[next] == i)
            next++;
        else
            y.at[y.rank++] = x.at[i];
    return glow_give_real(n, y, &out[0]);
}

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

/* Strides of the result for the axes of the operand: 0 for reduced axes. */
static glow_dims
result_steps(glow_dims x, glow_dims axes)
{
    glow_dims step = {.rank = x.rank};
    int next = axes.rank - 1;
    int64_t size = 1;

    for (int i = x.rank - 1; i >= 0; i--)
        if (next >= 0 && axes.at[next] == i) {
            next--;
        } else {
            step.at[i] = size;
            size *= x.at[i];
        }
    return step;
}

static double
real_add(double sum, double x)
{
    return sum + x;
}

/* True for the sum and the mean of quantized elements, which are exact. */
static bool
adds_quantized(const glow_reducer *r, const glow_tensor *in)
{
    return r->real == real_add && glow_is_quantized(in->type->elem);
}

/* One row along the last axis; the sums of `real` or of `integer`. */
typedef struct sums {
    const glow_reducer *r;
    const glow_tensor *in;
    double *real, *row;
    int64_t *integer;
} sums;

/* The elements of a row; of a quantized sum, less their offset. */
static void
load_row(const sums *s, int64_t from, int64_t count)
{
    if (!adds_quantized(s->r, s->in))
        glow_load(s->in, from, count, s->row);
    else
        for (int64_t i = 0; i < count; i++)
            s->row[i] =
                glow_get_double(s->in, from + i) - (double)s->in->type->offset;
}

static void
reduce_row(const sums *s, int64_t from, int64_t count, int64_t to, int64_t step)
{
    bool is_signed = glow_tensor_is_signed(s->in);

    if (s->real) {
        load_row(s, from, count);
        for (int64_t i = 0; i < count; i++)
            s->real[to + i * step] =
                s->r->real(s->real[to + i * step], s->row[i]);
    } else {
        for (int64_t i = 0; i < count; i++)
            s->integer[to + i * step] =
                s->r->integer(s->integer[to + i * step],
                              glow_get_int(s->in, from + i), is_signed);
    }
}

/* The results of the sums, of `count` elements each. */
static void
finish(const sums *s, const glow_tensor *out, double count)
{
    int64_t results = glow_tensor_count(out);

    if (adds_quantized(s->r, s->in)) {
        for (int64_t i = 0; i < results; i++)
            glow_set_mean(out, i, s->in->type, s->real[i],
                          s->r->finish ? count : 1);
        return;
    }
    for (int64_t i = 0; i < results && s->r->finish; i++)
        s->real[i] = s->r->finish(s->real[i], count);
    glow_store(out, 0, results, s->real);
}

static void
reduce_rows(const sums *s, glow_dims x, glow_dims axes)
{
    glow_dims step = result_steps(x, axes), rows = x;
    int last = x.rank - 1;
    int64_t from = 0, count = x.rank ? x.at[last] : 1;

    rows.rank = x.rank ? last : 0;
    GLOW_FOR_EACH_INDEX(i, rows) {
        int64_t to = 0;

        for (int a = 0; a < i.rank; a++)
            to += i.at[a] * step.at[a];
        reduce_row(s, from, count, to, x.rank ? step.at[last] : 0);
        from += count;
    }
}

bool
glow_reduce_by(const glow_reducer *r, const glow_tensor *in,
               const glow_tensor *out, glow_dims axes, glow_arena *scratch)
{
    glow_dims x = in->type->shape;
    int64_t size = x.rank ? x.at[x.rank - 1] : 1;
    int64_t results = glow_tensor_count(out), count = glow_tensor_count(in);
    bool is_real = glow_tensor_is_real(in);
    sums s = {.r = r, .in = in};

    if (is_real) {
        s.real = GLOW_NEW_ARRAY(scratch, double, results);
        s.row = GLOW_NEW_ARRAY(scratch, double, count ? size : 0);
    } else {
        s.integer = GLOW_NEW_ARRAY(scratch, int64_t, results);
    }
    for (int64_t i = 0; i < results && is_real; i++)
        s.real[i] = r->start;
    for (int64_t i = 0; i < results && !is_real; i++)
        s.integer[i] = glow_int_as(out->type, r->start);
    if (count > 0)
        reduce_rows(&s, x, axes);
    if (is_real)
        finish(&s, out, results ? (double)(count / results) : 0);
    for (int64_t i = 0; i < results && !is_real; i++)
        glow_set_int(out, i, s.integer[i]);
    return true;
}

static double
divide(double sum, double count)
{
    return sum / count;
}

static int64_t
int_add(int64_t sum, int64_t x, bool is_signed)
{
    (void)is_signed;
    return (int64_t)((uint64_t)sum + (uint64_t)x);
}

static int64_t
int_max(int64_t sum, int64_t x, bool is_signed)
{
    return glow_int_less(sum, x, is_signed) ? x : sum;
}

static int64_t
int_min(int64_t sum, int64_t x, bool is_signed)
{
    return glow_int_less(x, sum, is_signed) ? x : sum;
}

static double
real_mul(double product, double x)
{
    return product * x;
}

static int64_t
int_mul(int64_t product, int64_t x, bool is_signed)
{
    (void)is_signed;
    return (int64_t)((uint64_t)product * (uint64_t)x);
}

/* Words for the element kinds that each infer function above accepts. */
#define float_words "floats or quantized"
#define number_words "floats, integers or quantized"

GLOW_REDUCE(batchedreduceadd, "BatchedReduceAdd", "the sum along axes", number,
            GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_ROUNDS_ONCE | GLOW_SENSITIVE,
            "The sum; of nothing 0.  Integers wrap.  Quantized elements are "
            "added as those of BatchedReduceMean, with a number of 1.",
            "Glow BatchedReduceAdd; ONNX ReduceSum",
            &glow_derivative_batchedreduceadd, 0, real_add, int_add, NULL);
GLOW_REDUCE(batchedreducemax, "BatchedReduceMax",
            "the greatest element along axes", number,
            GLOW_PRIMITIVE | GLOW_ROUNDS_ONCE,
            "As Max; of nothing -inf, or the least integer." GLOW_REALS_DOC,
            "Glow BatchedReduceMax; ONNX ReduceMax",
            &glow_derivative_batchedreducemax, -INFINITY, glow_maximum, int_max,
            NULL);
GLOW_REDUCE(batchedreducemean, "BatchedReduceMean", "the mean along axes",
            float, GLOW_REDUCTION | GLOW_ROUNDS_ONCE | GLOW_SENSITIVE,
            "The sum divided by the number of elements." GLOW_MEAN_DOC,
            "Glow BatchedReduceMean; ONNX ReduceMean",
            &glow_derivative_batchedreducemean, 0, real_add, NULL, divide);
GLOW_REDUCE(batchedreducemin, "BatchedReduceMin",
            "the least element along axes", number,
            GLOW_PRIMITIVE | GLOW_ROUNDS_ONCE,
            "As Min; of nothing inf, or the greatest integer." GLOW_REALS_DOC,
            "Glow BatchedReduceMin; ONNX ReduceMin",
            &glow_derivative_batchedreducemin, INFINITY, glow_minimum, int_min,
            NULL);
GLOW_REDUCE(batchedreduceprod, "BatchedReduceProd", "the product along axes",
            number, GLOW_PRIMITIVE | GLOW_REDUCTION,
            "The product; of nothing 1.  Integers wrap." GLOW_REALS_DOC,
            "Glow BatchedReduceProd; ONNX ReduceProd",
            &glow_derivative_batchedreduceprod, 1, real_mul, int_mul, NULL);

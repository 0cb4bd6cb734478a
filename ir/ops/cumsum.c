/*
 * Running sums and products along an axis.
 */

#include "ir/ops/common.h"

static bool
cumsum_infer(const glow_node *n, glow_type out[])
{
    const glow_cumsum *c = n->attrs;

    return glow_admit_real(n, 0, GLOW_ANY_NUMBER) &&
           glow_check_axis(n, "Dim", c->dim, 0) &&
           glow_give_real(n, n->in[0]->type->shape, &out[0]);
}

/* The sums, or products, of `size` elements from `at` on, `step` apart. */
static void
run_row(const glow_cumsum *c, bool multiplies, const glow_tensor *x,
        const glow_tensor *y, int64_t at, int64_t step, int64_t size)
{
    bool real = glow_tensor_is_float(x);
    double sum = multiplies;
    uint64_t total = multiplies;

    for (int64_t k = 0; k < size; k++) {
        int64_t i = at + (c->reverse ? size - 1 - k : k) * step;
        double before = sum, v = real ? glow_get_double(x, i) : 0;
        uint64_t total_before = total;
        uint64_t w = real ? 0 : (uint64_t)glow_get_int(x, i);

        sum = multiplies ? sum * v : sum + v;
        total = multiplies ? total * w : total + w;
        if (real)
            glow_set_double(y, i, c->exclusive ? before : sum);
        else
            glow_set_int(y, i, (int64_t)(c->exclusive ? total_before : total));
    }
}

static bool
cum_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    const glow_cumsum *c = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[c->dim];
    int64_t step = glow_dims_product(x, c->dim + 1, x.rank);
    int64_t count = glow_tensor_count(in[0]);

    (void)scratch;
    for (int64_t at = 0; at < count; at += size * step)
        for (int64_t i = 0; i < step; i++)
            run_row(c, n->op == &glow_op_cumprod, in[0], out[0], at + i, step,
                    size);
    return true;
}

static bool
cumsum_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    return glow_eval_reals(n, in, out, scratch, cum_eval);
}

const glow_op glow_op_cumsum = {
    .name = "CumSum",
    .summary = "running sums along an axis",
    .in = {{"Input", GLOW_TENSOR, "x: floats, integers or quantized"}},
    .out = {{"Result", GLOW_TENSOR, "y, " GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_cumsum, dim, GLOW_INT, "the axis"),
              GLOW_FIELD_DEFAULT(glow_cumsum, exclusive, GLOW_FLAG,
                                 "a sum leaves out the element itself"),
              GLOW_FIELD_DEFAULT(glow_cumsum, reverse, GLOW_FLAG,
                                 "from the last element to the first")},
    .defaults = &(const glow_cumsum){.exclusive = false, .reverse = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = cumsum_infer,
    .eval = cumsum_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[j] = x[0] + .. + x[j]` along Dim; Exclusive: `x[0] + .. + "
           "x[j - 1]`; Reverse: `x[j] + .. + x[d - 1]`.  Integers wrap "
           "around." GLOW_REALS_DOC,
    .source = "Glow CumSum; ONNX CumSum",
    .derivative = &glow_derivative_cumsum,
};

const glow_op glow_op_cumprod = {
    .name = "CumProd",
    .summary = "running products along an axis",
    .in = {{"Input", GLOW_TENSOR, "x: floats, integers or quantized"}},
    .out = {{"Result", GLOW_TENSOR, "y, " GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_cumprod, dim, GLOW_INT, "the axis"),
              GLOW_FIELD_DEFAULT(glow_cumprod, exclusive, GLOW_FLAG,
                                 "a product leaves out the element itself"),
              GLOW_FIELD_DEFAULT(glow_cumprod, reverse, GLOW_FLAG,
                                 "from the last element to the first")},
    .defaults = &(const glow_cumprod){.exclusive = false, .reverse = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = cumsum_infer,
    .eval = cumsum_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[j] = x[0] * .. * x[j]` along Dim; Exclusive: `x[0] * .. * "
           "x[j - 1]`, and 1 for the first; Reverse: `x[j] * .. * x[d - 1]`.  "
           "Floats are multiplied in float64 and rounded once; integers wrap "
           "around." GLOW_REALS_DOC,
    .source = "ONNX CumProd",
    .derivative = &glow_derivative_cumprod,
};

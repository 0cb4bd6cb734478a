/*
 * SoftMax and its logarithm, along one axis.
 */

#include <math.h>

#include "ir/ops/common.h"

static bool
softmax_infer(const glow_node *n, glow_type out[])
{
    const glow_softmax *s = n->attrs;

    return glow_admit_real(n, 0, GLOW_ANY_FLOAT) &&
           glow_check_axis(n, "Axis", s->axis, 0) &&
           glow_give_real(n, n->in[0]->type->shape, &out[0]);
}

/* The maximum is subtracted first, so that no exponential overflows. */
static void
softmax(double *v, int64_t size, bool logarithm)
{
    double max = -INFINITY, sum = 0;

    for (int64_t i = 0; i < size; i++)
        max = glow_maximum(max, v[i]);
    for (int64_t i = 0; i < size; i++)
        sum += exp(v[i] - max);
    for (int64_t i = 0; i < size; i++)
        v[i] = logarithm ? v[i] - max - log(sum) : exp(v[i] - max) / sum;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const glow_softmax *s = n->attrs;
    bool logarithm = n->op == &glow_op_logsoftmax;
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[s->axis];
    int64_t step = glow_dims_product(x, s->axis + 1, x.rank);
    int64_t count = glow_tensor_count(out[0]);
    double *row;

    if (count == 0)
        return true;
    row = GLOW_NEW_ARRAY(scratch, double, size);
    for (int64_t at = 0; at < count; at += size * step)
        for (int64_t i = 0; i < step; i++) {
            for (int64_t j = 0; j < size; j++)
                row[j] = glow_get_double(in[0], at + i + j * step);
            softmax(row, size, logarithm);
            for (int64_t j = 0; j < size; j++)
                glow_set_double(out[0], at + i + j * step, row[j]);
        }
    return true;
}

static bool
softmax_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    return glow_eval_reals(n, in, out, scratch, eval);
}

const glow_op glow_op_softmax = {
    .name = "SoftMax",
    .summary = "exponentials along an axis, divided by their sum",
    .in = {{"Input", GLOW_TENSOR, "x"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_softmax, axis, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_SENSITIVE |
              GLOW_ROUNDS_ONCE,
    .infer = softmax_infer,
    .eval = softmax_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[i] = e^(x[i] - m) / sum over j of e^(x[j] - m)`, `m` the "
           "greatest of them." GLOW_REALS_DOC,
    .source = "Glow SoftMax; ONNX Softmax since opset 13",
    .derivative = &glow_derivative_softmax,
};

const glow_op glow_op_logsoftmax = {
    .name = "LogSoftMax",
    .summary = "the logarithm of SoftMax",
    .in = {{"Input", GLOW_TENSOR, "x"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_softmax, axis, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE | GLOW_ROUNDS_ONCE,
    .infer = softmax_infer,
    .eval = softmax_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[i] = x[i] - m - ln(sum over j of e^(x[j] - m))`, `m` the "
           "greatest of them." GLOW_REALS_DOC,
    .source = "Glow LogSoftMax; ONNX LogSoftmax since opset 13",
    .derivative = &glow_derivative_logsoftmax,
};

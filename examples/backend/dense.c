/*
 * npu.Dense: a product of matrices, a bias, and a Relu.
 *
 *     %y = npu.Dense(%x, %w, %b) {Relu: true} : float<2 x 8>
 *
 * `eval` is its meaning, in double; npu_run_dense is the kernel, in float.
 */

#include "npu.h"

static bool
infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[0]->type, *w = n->in[1]->type,
                    *b = n->in[2]->type;

    if (x->elem != GLOW_FLOAT || w->elem != GLOW_FLOAT || b->elem != GLOW_FLOAT)
        return glow_reject(n, "all operands are of float");
    if (x->shape.rank != 2 || w->shape.rank != 2 || b->shape.rank != 1)
        return glow_reject(n,
                           "the ranks are %d, %d and %d, but must be 2, 2 "
                           "and 1",
                           x->shape.rank, w->shape.rank, b->shape.rank);
    if (x->shape.at[1] != w->shape.at[0] || w->shape.at[1] != b->shape.at[0])
        return glow_reject(n, "the shapes of Input, Weights and Bias do not go "
                              "together");
    out[0] =
        glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(x->shape.at[0], w->shape.at[1]));
    return true;
}

static double
activate(const npu_dense *d, double sum)
{
    return d->relu && sum < 0 ? 0 : sum;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    int64_t rows = n->out[0]->type->shape.at[0];
    int64_t columns = n->out[0]->type->shape.at[1];
    int64_t depth = n->in[1]->type->shape.at[0];

    (void)scratch;
    for (int64_t i = 0; i < rows * columns; i++) {
        double sum = glow_get_double(in[2], i % columns);

        for (int64_t k = 0; k < depth; k++)
            sum += glow_get_double(in[0], i / columns * depth + k) *
                   glow_get_double(in[1], k * columns + i % columns);
        glow_set_double(out[0], i, activate(n->attrs, sum));
    }
    return true;
}

void
npu_run_dense(const glow_node *n, const float *x, const float *w,
              const float *b, float *y)
{
    const npu_dense *d = n->attrs;
    int64_t rows = n->out[0]->type->shape.at[0];
    int64_t columns = n->out[0]->type->shape.at[1];
    int64_t depth = n->in[1]->type->shape.at[0];

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float sum = b[j];

            for (int64_t k = 0; k < depth; k++)
                sum += x[i * depth + k] * w[k * columns + j];
            y[i * columns + j] = d->relu && sum < 0 ? 0 : sum;
        }
}

const glow_op npu_op_dense = {
    .name = "npu.Dense",
    .summary = "multiply matrices, add a bias, and rectify",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [M, K]"},
           {"Weights", GLOW_TENSOR, "w, of shape [K, N]"},
           {"Bias", GLOW_TENSOR, "b, of shape [N]"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [M, N]"}},
    .attrs = {GLOW_FIELD_DEFAULT(npu_dense, relu, GLOW_FLAG,
                                 "whether results below 0 become 0")},
    .defaults = &(const npu_dense){.relu = false},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = infer,
    .eval = eval,
    .doc = "`y = x w + b`, or `Relu(x w + b)`, rounded once.",
    .source = "this file",
};

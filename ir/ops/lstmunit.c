/* LSTMUnit: one step of an LSTM whose gates are given. */

#include <math.h>

#include "ir/ops/common.h"

static bool
lstmunit_infer(const glow_node *n, glow_type out[])
{
    const glow_type *c;
    int64_t columns;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_kinds(n, 1, 0) ||
        !glow_check_rank(n, 1, 2))
        return false;
    c = n->in[1]->type;
    if (glow_mul_overflow(c->shape.at[1], 4, &columns))
        return glow_reject(n, "4 gates of %" PRId64 " are too many",
                           c->shape.at[1]);
    return glow_check_shape(n, 0, GLOW_DIMS_OF(c->shape.at[0], columns),
                            "four for each of C") &&
           glow_give(n, glow_dense(c), &out[0]) &&
           glow_give(n, glow_dense(c), &out[1]);
}

static double
logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static bool
lstmunit_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    int64_t size = in[1]->type->shape.at[1];
    int64_t batch = in[1]->type->shape.at[0];

    (void)n, (void)scratch;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < size; i++) {
            int64_t at = b * size + i, gate = 4 * b * size + i;
            double c = glow_get_double(in[1], at);

            c = logistic(glow_get_double(in[0], gate + size)) * c +
                logistic(glow_get_double(in[0], gate)) *
                    tanh(glow_get_double(in[0], gate + 2 * size));
            glow_set_double(out[1], at, c);
            c = logistic(glow_get_double(in[0], gate + 3 * size)) * tanh(c);
            glow_set_double(out[0], at, c);
        }
    return true;
}

const glow_op glow_op_lstmunit = {
    .name = "LSTMUnit",
    .summary = "the state of a long short-term memory after a step",
    .in = {{"Input", GLOW_TENSOR, "[B, 4 H]: i, f, g and o of each row"},
           {"C", GLOW_TENSOR, "[B, H]: the cells before the step"}},
    .out = {{"NewH", GLOW_TENSOR, "[B, H]: the state after it"},
            {"NewC", GLOW_TENSOR, "[B, H]: the cells after it"}},
    .traits = GLOW_PURE,
    .infer = lstmunit_infer,
    .eval = lstmunit_eval,
    .doc = "`c' = sigmoid(f) * c + sigmoid(i) * tanh(g)`, `h' = sigmoid(o) * "
           "tanh(c')`.  Glow names the results the other way round, and uses "
           "them as here.",
    .source = "Hochreiter, Schmidhuber, Long Short-Term Memory, 1997; Glow "
              "LSTMUnit",
};

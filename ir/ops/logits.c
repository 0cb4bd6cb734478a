/*
 * Binary cross-entropy losses from logits: the probability is sigmoid(x).  Both
 * are in a form that does not overflow.
 */

#include <math.h>

#include "ir/ops/common.h"

static const char *const reductions[] = {"none", "mean", "sum", NULL};

/* log(1 + exp(-|x|)) */
static double
tail(double x)
{
    return log1p(exp(-fabs(x)));
}

/* sigmoidcrossentropywithlogits */

static bool
sigmoidcrossentropywithlogits_infer(const glow_node *n, glow_type out[])
{
    glow_dims y = n->in[0]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank_from(n, 0, 1) ||
        !glow_check_types(n, 1, 0))
        return false;
    y.rank--;
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

static bool
sigmoidcrossentropywithlogits_eval(const glow_node *n, glow_tensor *const in[],
                                   glow_tensor *const out[],
                                   glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[x.rank - 1], rows = glow_tensor_count(out[0]);

    (void)n, (void)scratch;
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;

        for (int64_t i = row * size; i < (row + 1) * size; i++) {
            double v = glow_get_double(in[0], i);

            sum += fmax(v, 0) - v * glow_get_double(in[1], i) + tail(v);
        }
        glow_set_double(out[0], row, sum / (double)size);
    }
    return true;
}

const glow_op glow_op_sigmoidcrossentropywithlogits = {
    .name = "SigmoidCrossEntropyWithLogits",
    .summary = "the mean loss of each row of logits",
    .in = {{"Logits", GLOW_TENSOR, "x"},
           {"Targets", GLOW_TENSOR, "t, of the same type: 0 to 1"}},
    .out = {{"Result", GLOW_TENSOR, "the shape of Logits but the last axis"}},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = sigmoidcrossentropywithlogits_infer,
    .eval = sigmoidcrossentropywithlogits_eval,
    .doc = "The mean along the last axis of `max(x, 0) - x * t + log(1 + "
           "exp(-|x|))`, which is `-t log(s) - (1 - t) log(1 - s)` of `s = "
           "sigmoid(x)`.",
    .source = "Glow SigmoidCrossEntropyWithLogits; Caffe2 "
              "SigmoidCrossEntropyWithLogits",
    .derivative = &glow_derivative_sigmoidcrossentropywithlogits,
};

/* binarycrossentropywithlogits */

/*
 * Checks that operand `i` is omitted, or can be broadcast to the shape of
 * Input.
 */
static bool
check_weight(const glow_node *n, int i)
{
    const glow_value *w = n->in[i];
    glow_dims x = n->in[0]->type->shape;

    if (!w)
        return true;
    if (!glow_check_kinds(n, i, 0))
        return false;

    int skip = x.rank - w->type->shape.rank;

    if (skip < 0)
        return glow_reject(n, "the rank of %s is %d, but that of Input %d",
                           n->op->in[i].name, w->type->shape.rank, x.rank);
    for (int k = 0; k < w->type->shape.rank; k++)
        if (w->type->shape.at[k] != 1 && w->type->shape.at[k] != x.at[skip + k])
            return glow_reject(n,
                               "axis %d of %s has %" PRId64 " elements, but "
                               "axis %d of Input %" PRId64,
                               k, n->op->in[i].name, w->type->shape.at[k],
                               skip + k, x.at[skip + k]);
    return true;
}

static bool
binarycrossentropywithlogits_infer(const glow_node *n, glow_type out[])
{
    const glow_binarycrossentropywithlogits *l = n->attrs;
    glow_type y = glow_dense(n->in[0]->type);

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_types(n, 1, 0) ||
        !check_weight(n, 2) || !check_weight(n, 3))
        return false;
    if (l->reduction != GLOW_LOSS_NONE)
        y = glow_reshaped(&y, (glow_dims){0});
    return glow_give(n, y, &out[0]);
}

/* The element of `t` that is broadcast to index `i`; 1 if `t` is omitted. */
static double
weight_at(const glow_tensor *t, glow_dims i)
{
    int64_t at = 0;

    if (!t)
        return 1;
    for (int k = 0; k < t->type->shape.rank; k++) {
        int64_t size = t->type->shape.at[k];

        at = at * size +
             (size == 1 ? 0 : i.at[i.rank - t->type->shape.rank + k]);
    }
    return glow_get_double(t, at);
}

static bool
binarycrossentropywithlogits_eval(const glow_node *n, glow_tensor *const in[],
                                  glow_tensor *const out[], glow_arena *scratch)
{
    const glow_binarycrossentropywithlogits *l = n->attrs;
    int64_t count = glow_tensor_count(in[0]), at = 0;
    double sum = 0;

    (void)scratch;
    if (count > 0)
        GLOW_FOR_EACH_INDEX(i, in[0]->type->shape) {
            double x = glow_get_double(in[0], at);
            double t = glow_get_double(in[1], at);
            double yes = 1 + (weight_at(in[3], i) - 1) * t;
            double loss = (1 - t) * x + yes * (tail(x) + fmax(-x, 0));

            loss *= weight_at(in[2], i);
            if (l->reduction == GLOW_LOSS_NONE)
                glow_set_double(out[0], at, loss);
            sum += loss;
            at++;
        }
    if (l->reduction != GLOW_LOSS_NONE)
        glow_set_double(out[0], 0,
                        l->reduction == GLOW_LOSS_MEAN ? sum / (double)count
                                                       : sum);
    return true;
}

const glow_op glow_op_binarycrossentropywithlogits = {
    .name = "BinaryCrossEntropyWithLogits",
    .summary = "the loss of logits, each by itself or all together",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Target", GLOW_TENSOR, "t, of the same type: 0 to 1"},
           {"Weight", GLOW_OPTIONAL,
            "w, repeated to the shape of Input along its first axes and those "
            "of one element; without it all are 1"},
           {"PosWeight", GLOW_OPTIONAL,
            "p, repeated likewise: what a target of 1 counts"}},
    .out = {{"Result", GLOW_TENSOR,
             "none: the type of Input; else one number of rank 0"}},
    .attrs = {GLOW_FIELD_ENUM(glow_binarycrossentropywithlogits, reduction,
                              reductions, "what becomes of the losses")},
    .defaults =
        &(const glow_binarycrossentropywithlogits){.reduction = GLOW_LOSS_MEAN},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = binarycrossentropywithlogits_infer,
    .eval = binarycrossentropywithlogits_eval,
    .doc = "`l = w * ((1 - t) * x + (1 + (p - 1) * t) * log(1 + exp(-x)))`; "
           "mean divides the sum by the number of elements.  Glow's Weight-, "
           "PosWeight- and SimpleBinaryCrossEntropyWithLogits are this one "
           "without PosWeight, without Weight, and without both.",
    .source = "Glow BinaryCrossEntropyWithLogits; PyTorch's "
              "binary_cross_entropy_with_logits",
};

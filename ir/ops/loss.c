/* Losses of classification by class index, and the mark of regression. */

#include <math.h>

#include "ir/ops/common.h"

static const char *const reductions[] = {"none", "mean", "sum", NULL};

/* Sets `*out`: the shape `each` without a reduction, else a scalar. */
static bool
give_loss(const glow_node *n, int reduction, glow_dims each, glow_type *out)
{
    if (reduction != GLOW_LOSS_NONE)
        each = (glow_dims){0};
    return glow_give(n, glow_reshaped(n->in[0]->type, each), out);
}

/* Element `i` of `labels`, from 0 to `classes` - 1; -1 after a report. */
static int64_t
label_at(const glow_node *n, const glow_tensor *labels, int64_t i,
         int64_t classes)
{
    int64_t label = glow_get_int(labels, i);

    if (label >= 0 && label < classes)
        return label;
    glow_reject(n,
                "element %" PRId64 " of %s is %" PRId64 ", but there are "
                "%" PRId64 " classes",
                i, n->op->in[1].name, label, classes);
    return -1;
}

/* negativeloglikelihoodloss */

static bool
negativeloglikelihoodloss_infer(const glow_node *n, glow_type out[])
{
    const glow_negativeloglikelihoodloss *l = n->attrs;
    glow_dims x = n->in[0]->type->shape, each = {.rank = x.rank - 1};

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank_from(n, 0, 2) ||
        !glow_admit(n, 1, GLOW_ANY_INT))
        return false;
    for (int i = 0; i < each.rank; i++)
        each.at[i] = x.at[i ? i + 1 : 0];
    if (!glow_check_shape(n, 1, each, "that of Input without the classes"))
        return false;
    if (n->in[2] && (!glow_check_kinds(n, 2, 0) ||
                     !glow_check_shape(n, 2, GLOW_DIMS_OF(x.at[1]),
                                       "that of the classes of Input")))
        return false;
    return give_loss(n, l->reduction, each, &out[0]);
}

static bool
negativeloglikelihoodloss_eval(const glow_node *n, glow_tensor *const in[],
                               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_negativeloglikelihoodloss *l = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t classes = x.at[1], rest = glow_dims_product(x, 2, x.rank);
    int64_t count = glow_tensor_count(in[1]);
    double *weights = in[2] ? glow_load_all(in[2], scratch) : NULL;
    double sum = 0, weight_sum = 0;

    for (int64_t i = 0; i < count; i++) {
        bool counts = l->ignore_index == GLOW_IGNORE_NONE ||
                      glow_get_int(in[1], i) != l->ignore_index;
        int64_t c = counts ? label_at(n, in[1], i, classes) : 0;
        double weight = !counts ? 0 : weights && c >= 0 ? weights[c] : 1;
        double loss = 0;

        if (c < 0)
            return false;
        if (counts)
            loss = -weight *
                   glow_get_double(in[0],
                                   (i / rest * classes + c) * rest + i % rest);
        if (l->reduction == GLOW_LOSS_NONE)
            glow_set_double(out[0], i, loss);
        sum += loss;
        weight_sum += weight;
    }
    if (l->reduction != GLOW_LOSS_NONE)
        glow_set_double(
            out[0], 0, l->reduction == GLOW_LOSS_MEAN ? sum / weight_sum : sum);
    return true;
}

const glow_op glow_op_negativeloglikelihoodloss = {
    .name = "NegativeLogLikelihoodLoss",
    .summary = "how unlikely the right classes are, of logarithms",
    .in = {{"Input", GLOW_TENSOR,
            "x: [N, C, ...], logarithms of probabilities of C classes"},
           {"Target", GLOW_TENSOR, "t: [N, ...], integers: the right classes"},
           {"Weight", GLOW_OPTIONAL, "w: [C]; without it all are 1"}},
    .out = {{"Result", GLOW_TENSOR,
             "none: the shape of Target; else one number of rank 0"}},
    .attrs = {GLOW_FIELD_ENUM(glow_negativeloglikelihoodloss, reduction,
                              reductions, "what becomes of the losses"),
              GLOW_FIELD_DEFAULT(glow_negativeloglikelihoodloss, ignore_index,
                                 GLOW_INT64,
                                 "targets of this value do not count; the "
                                 "least integer: all count")},
    .defaults = &(
        const glow_negativeloglikelihoodloss){.reduction = GLOW_LOSS_MEAN,
                                              .ignore_index = GLOW_IGNORE_NONE},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = negativeloglikelihoodloss_infer,
    .eval = negativeloglikelihoodloss_eval,
    .doc = "`l[n, i] = -w[t[n, i]] * x[n, t[n, i], i]`, or 0 where the target "
           "is IgnoreIndex.  mean: the sum of `l` divided by that of the "
           "weights that count.  Another target that is none of 0 to C - 1 is "
           "an error when it is met.",
    .source = "ONNX NegativeLogLikelihoodLoss; SoftmaxCrossEntropyLoss is "
              "LogSoftMax and this",
    .derivative = &glow_derivative_negativeloglikelihoodloss,
};

/* crossentropyloss */

static bool
crossentropyloss_infer(const glow_node *n, glow_type out[])
{
    glow_dims p = n->in[0]->type->shape, labels = n->in[1]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 2) ||
        !glow_admit(n, 1, GLOW_ANY_INT))
        return false;
    if (labels.rank == 2 ? !glow_check_shape(n, 1, GLOW_DIMS_OF(p.at[0], 1),
                                             "that of the rows of P")
                         : !glow_check_shape(n, 1, GLOW_DIMS_OF(p.at[0]),
                                             "that of the rows of P"))
        return false;
    return glow_give(n, glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(1)),
                     &out[0]);
}

static bool
crossentropyloss_eval(const glow_node *n, glow_tensor *const in[],
                      glow_tensor *const out[], glow_arena *scratch)
{
    int64_t rows = in[0]->type->shape.at[0], classes = in[0]->type->shape.at[1];
    double sum = 0;

    (void)scratch;
    for (int64_t i = 0; i < rows; i++) {
        int64_t c = label_at(n, in[1], i, classes);

        if (c < 0)
            return false;
        sum -= log(glow_get_double(in[0], i * classes + c));
    }
    glow_set_double(out[0], 0, sum);
    return true;
}

const glow_op glow_op_crossentropyloss = {
    .name = "CrossEntropyLoss",
    .summary = "how unlikely the right classes are, of probabilities",
    .in = {{"P", GLOW_TENSOR, "[N, C]: probabilities of C classes"},
           {"Labels", GLOW_TENSOR,
            "[N] or [N, 1], integers: the right classes"}},
    .out = {{"CE", GLOW_TENSOR, "of one element, and rank 1"}},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = crossentropyloss_infer,
    .eval = crossentropyloss_eval,
    .doc =
        "`CE[0]` is the sum of `-log(P[n, Labels[n]])`.  A label that is none "
        "of 0 to C - 1 is an error when it is met.",
    .source = "Glow CrossEntropyLoss",
    .derivative = &glow_derivative_crossentropyloss,
};

/* regression */

static bool
regression_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_ANY_FLOAT) && glow_check_types(n, 1, 0) &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
regression_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims shape = in[0]->type->shape, steps = glow_dims_strides(shape);

    (void)n, (void)scratch;
    glow_copy_block(out[0], 0, steps, in[0], 0, steps, shape);
    return true;
}

const glow_op glow_op_regression = {
    .name = "Regression",
    .summary = "mark values that training brings near to expected ones",
    .in = {{"Input", GLOW_TENSOR, "what the network computes"},
           {"Expected", GLOW_TENSOR, "of the same type: what it should"}},
    .out = {{"Result", GLOW_TENSOR, "Input"}},
    .traits = GLOW_PURE,
    .infer = regression_infer,
    .eval = regression_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "The operand itself: the half of the squared distance to Expected "
           "is the loss, of which only the gradient is ever asked for.",
    .source = "Glow Regression",
};

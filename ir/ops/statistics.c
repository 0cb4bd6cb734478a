/* Moments for a normalization, and the Box-Cox transformation. */

#include <math.h>

#include "ir/ops/common.h"

/* meanvarnormalization */

static bool
meanvarnormalization_infer(const glow_node *n, glow_type out[])
{
    const glow_meanvarnormalization *m = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    glow_type y;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) ||
        !glow_check_axis(n, "ChannelIdx", m->channel_idx, 0))
        return false;
    if (!(m->momentum >= 0 && m->momentum <= 1))
        return glow_reject(n, "Momentum is %g, but must be 0 to 1",
                           (double)m->momentum);
    for (int i = 1; i < n->n_in; i++)
        if (!glow_check_kinds(n, i, 0) ||
            !glow_check_shape(n, i, GLOW_DIMS_OF(x.at[m->channel_idx]),
                              "that of the channels of Input"))
            return false;
    y = glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(x.at[m->channel_idx]));
    return glow_give(n, y, &out[0]) && glow_give(n, y, &out[1]);
}

static bool
meanvarnormalization_eval(const glow_node *n, glow_tensor *const in[],
                          glow_tensor *const out[], glow_arena *scratch)
{
    const glow_meanvarnormalization *m = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t channels = x.at[m->channel_idx];
    int64_t step = glow_dims_product(x, m->channel_idx + 1, x.rank);
    int64_t count = glow_tensor_count(in[0]);
    double p = (double)m->momentum, each = (double)count / (double)channels;
    double *mean, *var;

    if (channels == 0)
        return true;
    mean = GLOW_NEW_ARRAY(scratch, double, channels);
    var = GLOW_NEW_ARRAY(scratch, double, channels);
    for (int64_t c = 0; c < channels; c++)
        mean[c] = var[c] = 0;
    for (int64_t i = 0; i < count; i++)
        mean[i / step % channels] += glow_get_double(in[0], i);
    for (int64_t c = 0; c < channels; c++)
        mean[c] /= each;
    for (int64_t i = 0; i < count; i++) {
        int64_t c = i / step % channels;
        double d = glow_get_double(in[0], i) - mean[c];

        var[c] += d * d;
    }
    for (int64_t c = 0; c < channels; c++) {
        double old_mean = p == 1 ? 0 : glow_get_double(in[1], c);
        double old_var = p == 1 ? 0 : glow_get_double(in[2], c);

        glow_set_double(out[0], c, p * mean[c] + (1 - p) * old_mean);
        glow_set_double(out[1], c, p * var[c] / each + (1 - p) * old_var);
    }
    return true;
}

const glow_op glow_op_meanvarnormalization = {
    .name = "MeanVarNormalization",
    .summary = "bring running means and variances of channels up to date",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Mean", GLOW_TENSOR, "m, one for each channel"},
           {"Var", GLOW_TENSOR, "v, one for each channel"}},
    .out = {{"NewMean", GLOW_TENSOR, "the type of Mean"},
            {"NewVar", GLOW_TENSOR, "the type of Var"}},
    .attrs = {GLOW_FIELD(glow_meanvarnormalization, channel_idx, GLOW_INT,
                         "the axis of the channels"),
              GLOW_FIELD(glow_meanvarnormalization, momentum, GLOW_FLOAT32,
                         "what the batch at hand counts, p, 0 to 1")},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = meanvarnormalization_infer,
    .eval = meanvarnormalization_eval,
    .doc = "With the mean `u` and the variance `w = mean of (x - u)^2` of a "
           "channel: `NewMean = p u + (1 - p) m`, `NewVar = p w + (1 - p) v`.  "
           "With 1 for p neither Mean nor Var is read.",
    .source = "Glow MeanVarNormalization; ONNX BatchNormalization, training, "
              "whose momentum is 1 - p",
    .derivative = &glow_derivative_meanvarnormalization,
};

/* batchboxcox */

static bool
batchboxcox_infer(const glow_node *n, glow_type out[])
{
    const glow_batchboxcox *c = n->attrs;
    const glow_type *x = n->in[0]->type;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 2))
        return false;
    for (int i = 1; i < n->n_in; i++)
        if (!glow_check_kinds(n, i, 0) ||
            !glow_check_shape(n, i, GLOW_DIMS_OF(x->shape.at[1]),
                              "that of the features of Input"))
            return false;
    if (!(c->epsilon > 0))
        return glow_reject(n, "Epsilon is %g, but must be greater than 0",
                           (double)c->epsilon);
    return glow_give(n, glow_dense(x), &out[0]);
}

static bool
batchboxcox_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    const glow_batchboxcox *b = n->attrs;
    int64_t features = in[0]->type->shape.at[1];
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        double power = glow_get_double(in[1], i % features);
        double x =
            glow_get_double(in[0], i) + glow_get_double(in[2], i % features);

        x = glow_maximum(x, (double)b->epsilon);
        glow_set_double(out[0], i,
                        power == 0 ? log(x) : (pow(x, power) - 1) / power);
    }
    return true;
}

const glow_op glow_op_batchboxcox = {
    .name = "BatchBoxCox",
    .summary = "transform each feature by its Box-Cox parameters",
    .in = {{"Input", GLOW_TENSOR, "x, [N, D]"},
           {"Lambda1", GLOW_TENSOR, "a, [D]: the exponents"},
           {"Lambda2", GLOW_TENSOR, "b, [D]: what is added"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_batchboxcox, epsilon, GLOW_FLOAT32,
                         "the least that is raised, e")},
    .traits = GLOW_PURE,
    .infer = batchboxcox_infer,
    .eval = batchboxcox_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "With `u = max(x + b, e)`: `y = ln(u)` where `a` is 0, else `y = "
           "(u^a - 1) / a`.",
    .source = "Box, Cox, An Analysis of Transformations, 1964; Glow "
              "BatchBoxCox; Caffe2 BatchBoxCox",
};

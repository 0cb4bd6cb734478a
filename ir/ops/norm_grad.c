/* Gradients of normalizations by their operands. */

#include <math.h>

#include "ir/ops/common.h"

/* batchnormalizationgrad */

enum { X, SCALE, MEAN, VAR, BY_RESULT };

static bool
batchnormalizationgrad_infer(const glow_node *n, glow_type out[])
{
    const glow_batchnormalizationgrad *b = n->attrs;
    const glow_type *x = n->in[X]->type;
    glow_type channels;

    if (!glow_admit(n, X, GLOW_ANY_FLOAT) ||
        !glow_check_axis(n, "ChannelIdx", b->channel_idx, X))
        return false;
    if (b->epsilon < 0)
        return glow_reject(n, "Epsilon is %g, but must be 0 or more",
                           (double)b->epsilon);
    channels = glow_reshaped(x, GLOW_DIMS_OF(x->shape.at[b->channel_idx]));
    for (int i = SCALE; i <= VAR; i++)
        if (!glow_check_kinds(n, i, X) ||
            !glow_check_shape(n, i, channels.shape,
                              "that of the channels of Input"))
            return false;
    return glow_check_types(n, BY_RESULT, X) &&
           glow_give(n, glow_dense(x), &out[0]) &&
           glow_give(n, channels, &out[1]) && glow_give(n, channels, &out[2]);
}

/* By channel: factors of ResultGrad, of its mean, and of the centred elements. */
typedef struct channel {
    double sum, product; /* of ResultGrad, and of its products with x - m */
    double mean, rate;   /* rate: 1 / sqrt(v + Epsilon) */
} channel;

static bool
batchnormalizationgrad_eval(const glow_node *n, glow_tensor *const in[],
                            glow_tensor *const out[], glow_arena *scratch)
{
    const glow_batchnormalizationgrad *b = n->attrs;
    glow_dims x = in[X]->type->shape;
    int64_t channels = x.at[b->channel_idx], count = glow_tensor_count(in[X]);
    int64_t step = glow_dims_product(x, b->channel_idx + 1, x.rank);
    double each = channels ? (double)count / (double)channels : 0;
    channel *all = GLOW_NEW_ARRAY(scratch, channel, channels);

    for (int64_t c = 0; c < channels; c++) {
        all[c].mean = glow_get_double(in[MEAN], c);
        all[c].rate =
            1 / sqrt(glow_get_double(in[VAR], c) + (double)b->epsilon);
    }
    for (int64_t i = 0; i < count; i++) {
        channel *c = &all[i / step % channels];
        double d = glow_get_double(in[BY_RESULT], i);

        c->sum += d;
        c->product += d * (glow_get_double(in[X], i) - c->mean);
    }
    for (int64_t i = 0; i < count; i++) {
        const channel *c = &all[i / step % channels];
        double d = glow_get_double(in[BY_RESULT], i);
        double centred = glow_get_double(in[X], i) - c->mean;

        d -= (c->sum + centred * c->rate * c->rate * c->product) / each;
        glow_set_double(out[0], i,
                        glow_get_double(in[SCALE], i / step % channels) *
                            c->rate * d);
    }
    for (int64_t c = 0; c < channels; c++) {
        glow_set_double(out[1], c, all[c].product * all[c].rate);
        glow_set_double(out[2], c, all[c].sum);
    }
    return true;
}

const glow_op glow_op_batchnormalizationgrad = {
    .name = "BatchNormalizationGrad",
    .summary = "the gradients of a loss by the operands of a normalization of "
               "a batch by itself",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Scale", GLOW_TENSOR, "s, one for each channel"},
           {"Mean", GLOW_TENSOR, "m, the mean of each channel of Input"},
           {"Var", GLOW_TENSOR, "v, the variance of each channel of Input"},
           {"ResultGrad", GLOW_TENSOR,
            "d, of the type of Input: the gradient by the result"}},
    .out = {{"InputGrad", GLOW_TENSOR, "of the type of Input"},
            {"ScaleGrad", GLOW_TENSOR, "one for each channel"},
            {"BiasGrad", GLOW_TENSOR, "one for each channel"}},
    .attrs = {GLOW_FIELD(glow_batchnormalizationgrad, channel_idx, GLOW_INT,
                         "the axis of the channels"),
              GLOW_FIELD(glow_batchnormalizationgrad, epsilon, GLOW_FLOAT32,
                         "added to the variance")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = batchnormalizationgrad_infer,
    .eval = batchnormalizationgrad_eval,
    .inplace = {{0, BY_RESULT}, {0, X}},
    .inplace_count = 2,
    .doc =
        "With `r = 1 / sqrt(v + Epsilon)` and `z = (x - m) r`, by channel: "
        "BiasGrad is the sum of `d`, ScaleGrad the sum of `d z`, and "
        "`InputGrad = s r (d - mean of d - z (mean of d z))`.  These are the "
        "gradients of BatchNormalization where Mean and Var are those that "
        "MeanVarNormalization makes of Input, with Momentum 1.",
    .source = "Ioffe, Szegedy, arXiv:1502.03167, section 3; Glow "
              "BatchNormalizationGrad",
};

/* layernormalizationgrad, rmsnormalizationgrad */

enum { ROW_SCALE = 1, ROW_BY_RESULT };

static bool
layernormalizationgrad_infer(const glow_node *n, glow_type out[])
{
    const glow_layernormalizationgrad *l = n->attrs;
    const glow_type *x = n->in[X]->type;
    glow_dims inner = {0};
    bool fits;

    if (!glow_admit(n, X, GLOW_ANY_FLOAT) ||
        !glow_check_axis(n, "Axis", l->axis, X))
        return false;
    if (l->epsilon < 0)
        return glow_reject(n, "Epsilon is %g, but must be 0 or more",
                           (double)l->epsilon);
    for (int i = l->axis; i < x->shape.rank; i++)
        inner.at[inner.rank++] = x->shape.at[i];
    if (n->in[ROW_SCALE] &&
        (!glow_check_kinds(n, ROW_SCALE, X) ||
         !glow_check_shape(n, ROW_SCALE, inner, "that of Input from Axis on")))
        return false;
    fits = glow_check_types(n, ROW_BY_RESULT, X) &&
           glow_give(n, glow_dense(x), &out[0]);
    for (int i = 1; fits && i < n->n_out; i++)
        fits = glow_give(n, glow_reshaped(x, inner), &out[i]);
    return fits;
}

/* A row of elements x, its gradients d and s, and sums for all rows. */
typedef struct row {
    double *x, *d, *scale, *by_scale, *by_bias;
    int64_t size;
    double epsilon;
    bool is_centred;
} row;

/* Leaves the gradients by x in d. */
static void
differentiate_row(const row *r)
{
    double count = (double)r->size, mean = 0, rate = 0, sum = 0, product = 0;

    for (int64_t i = 0; r->is_centred && i < r->size; i++)
        mean += r->x[i] / count;
    for (int64_t i = 0; i < r->size; i++) {
        r->x[i] -= mean;
        rate += r->x[i] * r->x[i] / count;
    }
    rate = 1 / sqrt(rate + r->epsilon);
    for (int64_t i = 0; i < r->size; i++) {
        r->x[i] *= rate;
        r->by_scale[i] += r->d[i] * r->x[i];
        r->by_bias[i] += r->d[i];
        r->d[i] *= r->scale ? r->scale[i] : 1;
        sum += r->d[i] / count;
        product += r->d[i] * r->x[i] / count;
    }
    if (!r->is_centred)
        sum = 0;
    for (int64_t i = 0; i < r->size; i++)
        r->d[i] = rate * (r->d[i] - sum - r->x[i] * product);
}

static bool
layernormalizationgrad_eval(const glow_node *n, glow_tensor *const in[],
                            glow_tensor *const out[], glow_arena *scratch)
{
    const glow_layernormalizationgrad *l = n->attrs;
    glow_dims x = in[X]->type->shape;
    int64_t size = glow_dims_product(x, l->axis, x.rank);
    int64_t count = glow_tensor_count(out[0]);
    row r = {.x = GLOW_NEW_ARRAY(scratch, double, size),
             .d = GLOW_NEW_ARRAY(scratch, double, size),
             .by_scale = GLOW_NEW_ARRAY(scratch, double, size),
             .by_bias = GLOW_NEW_ARRAY(scratch, double, size),
             .size = size,
             .epsilon = (double)l->epsilon,
             .is_centred = n->op == &glow_op_layernormalizationgrad};

    if (in[ROW_SCALE])
        r.scale = glow_load_all(in[ROW_SCALE], scratch);
    for (int64_t at = 0; at < count; at += size) {
        glow_load(in[X], at, size, r.x);
        glow_load(in[ROW_BY_RESULT], at, size, r.d);
        differentiate_row(&r);
        glow_store(out[0], at, size, r.d);
    }
    glow_store(out[1], 0, size, r.by_scale);
    if (n->n_out > 2)
        glow_store(out[2], 0, size, r.by_bias);
    return true;
}

#define ROW_OPERANDS                                                    \
    {{"Input", GLOW_TENSOR, "x"},                                       \
     {"Scale", GLOW_OPTIONAL, "s, of the shape of Input from Axis on"}, \
     {"ResultGrad", GLOW_TENSOR,                                        \
      "d, of the type of Input: the gradient by the "                   \
      "result"}}

#define ROW_ATTRS                                                      \
    {GLOW_FIELD(glow_layernormalizationgrad, axis, GLOW_INT,           \
                "the first of the axes that are normalized together"), \
     GLOW_FIELD(glow_layernormalizationgrad, epsilon, GLOW_FLOAT32,    \
                "added to the variance, or to the mean square")}

const glow_op glow_op_layernormalizationgrad = {
    .name = "LayerNormalizationGrad",
    .summary = "the gradients of a loss by the operands of LayerNormalization",
    .in = ROW_OPERANDS,
    .out = {{"InputGrad", GLOW_TENSOR, "of the type of Input"},
            {"ScaleGrad", GLOW_TENSOR, "of the shape of Input from Axis on"},
            {"BiasGrad", GLOW_TENSOR, "of the same shape"}},
    .attrs = ROW_ATTRS,
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = layernormalizationgrad_infer,
    .eval = layernormalizationgrad_eval,
    .inplace = {{0, ROW_BY_RESULT}, {0, X}},
    .inplace_count = 2,
    .doc = "With the mean `m` and the variance `v` of the elements of x from "
           "Axis on, `r = 1 / sqrt(v + Epsilon)`, `z = (x - m) r` and `e = d "
           "s`: `InputGrad = r (e - mean of e - z (mean of e z))`, ScaleGrad "
           "is the sum of `d z` along the axes before Axis, BiasGrad that of "
           "`d`.  Without Scale `s` is 1.",
    .source = "Ba, Kiros, Hinton, Layer Normalization, arXiv:1607.06450",
};

const glow_op glow_op_rmsnormalizationgrad = {
    .name = "RMSNormalizationGrad",
    .summary = "the gradients of a loss by the operands of RMSNormalization",
    .in = ROW_OPERANDS,
    .out = {{"InputGrad", GLOW_TENSOR, "of the type of Input"},
            {"ScaleGrad", GLOW_TENSOR, "of the shape of Input from Axis on"}},
    .attrs = ROW_ATTRS,
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = layernormalizationgrad_infer,
    .eval = layernormalizationgrad_eval,
    .inplace = {{0, ROW_BY_RESULT}, {0, X}},
    .inplace_count = 2,
    .doc = "With the mean `v` of the squares of the elements of x from Axis "
           "on, `r = 1 / sqrt(v + Epsilon)`, `z = x r` and `e = d s`: "
           "`InputGrad = r (e - z (mean of e z))`, and ScaleGrad is the sum "
           "of `d z` along the axes before Axis.  Without Scale `s` is 1.",
    .source = "Zhang, Sennrich, Root Mean Square Layer Normalization, "
              "arXiv:1910.07467",
};

/*
 * Normalization by mean and variance: of a batch, of layers, of local
 * responses.
 */

#include <math.h>

#include "ir/ops/common.h"

static bool
check_epsilon(const glow_node *n, float epsilon)
{
    return epsilon >= 0 ||
           glow_reject(n, "Epsilon is %g, but must be 0 or more",
                       (double)epsilon);
}

/* Operand `i` has the kind of Input; beside a quantized one, any kind of reals. */
static bool
check_parameter(const glow_node *n, int i)
{
    return glow_takes_quantized(n) ? glow_admit_real(n, i, GLOW_ANY_FLOAT)
                                   : glow_check_kinds(n, i, 0);
}

/* batchnormalization */

static bool
batchnormalization_infer(const glow_node *n, glow_type out[])
{
    const glow_batchnormalization *b = n->attrs;
    const glow_type *x = n->in[0]->type;

    if (!glow_admit_real(n, 0, GLOW_ANY_FLOAT) ||
        !glow_check_axis(n, "ChannelIdx", b->channel_idx, 0) ||
        !check_epsilon(n, b->epsilon))
        return false;
    for (int i = 1; i < n->n_in; i++)
        if (!check_parameter(n, i) ||
            !glow_check_shape(n, i, GLOW_DIMS_OF(x->shape.at[b->channel_idx]),
                              "that of the channels of Input"))
            return false;
    return glow_give_real(n, x->shape, &out[0]);
}

static bool
batchnormalization_eval(const glow_node *n, glow_tensor *const in[],
                        glow_tensor *const out[], glow_arena *scratch)
{
    const glow_batchnormalization *b = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t channels = x.at[b->channel_idx];
    int64_t step = glow_dims_product(x, b->channel_idx + 1, x.rank);
    int64_t count = glow_tensor_count(out[0]);
    double *scale, *bias, *mean, *var;

    if (count == 0)
        return true;
    scale = glow_load_all(in[1], scratch);
    bias = glow_load_all(in[2], scratch);
    mean = glow_load_all(in[3], scratch);
    var = glow_load_all(in[4], scratch);
    for (int64_t i = 0; i < count; i++) {
        int64_t c = i / step % channels;
        double v;

        glow_load(in[0], i, 1, &v);
        v = (v - mean[c]) / sqrt(var[c] + (double)b->epsilon) * scale[c] +
            bias[c];
        glow_store(out[0], i, 1, &v);
    }
    return true;
}

const glow_op glow_op_batchnormalization = {
    .name = "BatchNormalization",
    .summary = "normalize each channel by a given mean and variance",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Scale", GLOW_TENSOR, "s, one for each channel"},
           {"Bias", GLOW_TENSOR, "b, one for each channel"},
           {"Mean", GLOW_TENSOR, "m, one for each channel"},
           {"Var", GLOW_TENSOR, "v, the variance, one for each channel"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_batchnormalization, channel_idx, GLOW_INT,
                         "the axis of the channels"),
              GLOW_FIELD(glow_batchnormalization, epsilon, GLOW_FLOAT32,
                         "added to the variance")},
    .traits = GLOW_PURE | GLOW_SENSITIVE | GLOW_ROUNDS_ONCE,
    .infer = batchnormalization_infer,
    .eval = batchnormalization_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc =
        "`y = (x - m[c]) / sqrt(v[c] + Epsilon) * s[c] + b[c]`." GLOW_REALS_DOC,
    .source = "Ioffe, Szegedy, Batch Normalization, arXiv:1502.03167; Glow "
              "BatchNormalization; ONNX BatchNormalization, inference",
    .derivative = &glow_derivative_batchnormalization,
};

/* layernormalization */

static bool
layernormalization_infer(const glow_node *n, glow_type out[])
{
    const glow_layernormalization *l = n->attrs;
    const glow_type *x = n->in[0]->type;
    glow_dims inner = {0};

    if (!glow_admit_real(n, 0, GLOW_ANY_FLOAT) ||
        !glow_check_axis(n, "Axis", l->axis, 0) ||
        !check_epsilon(n, l->epsilon))
        return false;
    for (int i = l->axis; i < x->shape.rank; i++)
        inner.at[inner.rank++] = x->shape.at[i];
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] &&
            (!check_parameter(n, i) ||
             !glow_check_shape(n, i, inner, "that of Input from Axis on")))
            return false;
    return glow_give_real(n, x->shape, &out[0]);
}

/* Normalizes `size` elements in place. */
static void
normalize(double *v, int64_t size, double epsilon, const double *scale,
          const double *bias)
{
    double mean = 0, var = 0;

    for (int64_t i = 0; i < size; i++)
        mean += v[i];
    mean /= (double)size;
    for (int64_t i = 0; i < size; i++)
        var += (v[i] - mean) * (v[i] - mean);
    var /= (double)size;
    for (int64_t i = 0; i < size; i++)
        v[i] = (v[i] - mean) / sqrt(var + epsilon) * (scale ? scale[i] : 1) +
               (bias ? bias[i] : 0);
}

static bool
layernormalization_eval(const glow_node *n, glow_tensor *const in[],
                        glow_tensor *const out[], glow_arena *scratch)
{
    const glow_layernormalization *l = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t size = glow_dims_product(x, l->axis, x.rank);
    int64_t count = glow_tensor_count(out[0]);
    double *scale = NULL, *bias = NULL, *row;

    if (count == 0)
        return true;
    if (in[1])
        scale = glow_load_all(in[1], scratch);
    if (in[2])
        bias = glow_load_all(in[2], scratch);
    row = GLOW_NEW_ARRAY(scratch, double, size);
    for (int64_t at = 0; at < count; at += size) {
        glow_load(in[0], at, size, row);
        normalize(row, size, (double)l->epsilon, scale, bias);
        glow_store(out[0], at, size, row);
    }
    return true;
}

const glow_op glow_op_layernormalization = {
    .name = "LayerNormalization",
    .summary = "normalize by the mean and variance of the last axes",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Scale", GLOW_OPTIONAL, "s, of the shape of Input from Axis on"},
           {"Bias", GLOW_OPTIONAL, "b, of the same shape"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_layernormalization, axis, GLOW_INT,
                         "the first of the axes that are normalized together"),
              GLOW_FIELD(glow_layernormalization, epsilon, GLOW_FLOAT32,
                         "added to the variance")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE | GLOW_ROUNDS_ONCE,
    .infer = layernormalization_infer,
    .eval = layernormalization_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "With the mean `m` and the variance `v = mean of (x - m)^2` of the "
           "elements from Axis on: `y = (x - m) / sqrt(v + Epsilon) * s + b`.  "
           "Without Scale `s` is 1, without Bias `b` is 0." GLOW_REALS_DOC,
    .source = "Ba, Kiros, Hinton, Layer Normalization, arXiv:1607.06450; Glow "
              "LayerNormalization; ONNX LayerNormalization",
    .derivative = &glow_derivative_layernormalization,
};

/* rmsnormalization */

static bool
rmsnormalization_eval(const glow_node *n, glow_tensor *const in[],
                      glow_tensor *const out[], glow_arena *scratch)
{
    const glow_rmsnormalization *r = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t size = glow_dims_product(x, r->axis, x.rank);
    int64_t count = glow_tensor_count(out[0]);
    double *scale, *row;

    if (count == 0)
        return true;
    scale = in[1] ? glow_load_all(in[1], scratch) : NULL;
    row = GLOW_NEW_ARRAY(scratch, double, size);
    for (int64_t at = 0; at < count; at += size) {
        double mean = 0;

        glow_load(in[0], at, size, row);
        for (int64_t i = 0; i < size; i++)
            mean += row[i] * row[i] / (double)size;
        for (int64_t i = 0; i < size; i++)
            row[i] = row[i] / sqrt(mean + (double)r->epsilon) *
                     (scale ? scale[i] : 1);
        glow_store(out[0], at, size, row);
    }
    return true;
}

const glow_op glow_op_rmsnormalization = {
    .name = "RMSNormalization",
    .summary = "normalize by the mean square of the last axes",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Scale", GLOW_OPTIONAL, "s, of the shape of Input from Axis on"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_rmsnormalization, axis, GLOW_INT,
                         "the first of the axes that are normalized together"),
              GLOW_FIELD(glow_rmsnormalization, epsilon, GLOW_FLOAT32,
                         "added to the mean square")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = layernormalization_infer,
    .eval = rmsnormalization_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc =
        "With the mean `v` of the squares of the elements from Axis on: `y "
        "= x / sqrt(v + Epsilon) * s`.  Without Scale `s` is 1." GLOW_REALS_DOC,
    .source = "Zhang, Sennrich, Root Mean Square Layer Normalization, "
              "arXiv:1910.07467; ONNX RMSNormalization",
    .derivative = &glow_derivative_rmsnormalization,
};

/* localresponsenormalization */

static bool
localresponsenormalization_infer(const glow_node *n, glow_type out[])
{
    const glow_localresponsenormalization *l = n->attrs;

    if (!glow_admit_real(n, 0, GLOW_ANY_FLOAT) ||
        !glow_check_rank_from(n, 0, 1))
        return false;
    if (l->half_window_size < 0)
        return glow_reject(n,
                           "HalfWindowSize is %" PRId64 ", but must be 0 or "
                           "more",
                           l->half_window_size);
    return glow_give_real(n, n->in[0]->type->shape, &out[0]);
}

/* Normalizes a row of x of `size` channels into y. */
static void
normalize_channels(const glow_localresponsenormalization *l, const double *x,
                   int64_t size, double *y)
{
    int64_t half = l->half_window_size < size ? l->half_window_size : size;
    double window = 2 * (double)l->half_window_size + 1;

    for (int64_t c = 0; c < size; c++) {
        int64_t first = c - half < 0 ? 0 : c - half;
        int64_t last = c + half >= size ? size - 1 : c + half;
        double sum = 0;

        for (int64_t i = first; i <= last; i++)
            sum += x[i] * x[i];
        y[c] = x[c] / pow((double)l->k + (double)l->alpha * sum / window,
                          (double)l->beta);
    }
}

static bool
localresponsenormalization_eval(const glow_node *n, glow_tensor *const in[],
                                glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[x.rank - 1];
    int64_t count = glow_tensor_count(out[0]);
    double *from, *to;

    if (count == 0)
        return true;
    from = GLOW_NEW_ARRAY(scratch, double, size);
    to = GLOW_NEW_ARRAY(scratch, double, size);
    for (int64_t at = 0; at < count; at += size) {
        glow_load(in[0], at, size, from);
        normalize_channels(n->attrs, from, size, to);
        glow_store(out[0], at, size, to);
    }
    return true;
}

const glow_op glow_op_localresponsenormalization = {
    .name = "LocalResponseNormalization",
    .summary = "normalize each element by its neighbours along the last axis",
    .in = {{"Input", GLOW_TENSOR, "x, the channels along the last axis"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_localresponsenormalization, half_window_size,
                         GLOW_INT64, "neighbours on each side, h"),
              GLOW_FIELD(glow_localresponsenormalization, alpha, GLOW_FLOAT32,
                         "scales the sum of squares"),
              GLOW_FIELD(glow_localresponsenormalization, beta, GLOW_FLOAT32,
                         "the exponent"),
              GLOW_FIELD(glow_localresponsenormalization, k, GLOW_FLOAT32,
                         "what is added")},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = localresponsenormalization_infer,
    .eval = localresponsenormalization_eval,
    .doc =
        "`y[c] = x[c] / (K + Alpha / (2 h + 1) * sum of x[i]^2)^Beta`, i "
        "from `c - h` to `c + h`, as far as there are channels." GLOW_REALS_DOC,
    .source =
        "Krizhevsky, Sutskever, Hinton, ImageNet Classification with Deep "
        "Convolutional Neural Networks, 2012; Glow "
        "LocalResponseNormalization; ONNX LRN",
    .derivative = &glow_derivative_localresponsenormalization,
};

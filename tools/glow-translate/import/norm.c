/*
 * Normalization and softmax.
 */

#include <inttypes.h>
#include <limits.h>

#include "tools/glow-translate/import/import.h"

/*
 * True if statistics of the batch are used: by training_mode since opset 14,
 * before by the presence of training's additional results.
 */
static bool
is_training(import_node *n)
{
    bool more = false;

    for (int i = 1; i < n->n_out; i++)
        more |= import_wants(n, i);
    import_ignore(n, "consumed_inputs");
    if (n->opset >= 14)
        return import_flag(n, "training_mode", false);
    return !import_flag(n, "is_test", false) && more;
}

/* Means and variances of the batch, and the running ones, as results. */
static void
batch_statistics(import_node *n, glow_value *x, glow_value **mean,
                 glow_value **var, float momentum)
{
    glow_value *now = BUILD(n, meanvarnormalization, GLOW_IN(x, *mean, *var),
                            .channel_idx = 1, .momentum = 1);
    glow_value *later = BUILD(n, meanvarnormalization, GLOW_IN(x, *mean, *var),
                              .channel_idx = 1, .momentum = 1 - momentum);

    if (n->failed)
        return;
    if (!import_save_later(n, later->def->out[0], *mean) ||
        !import_save_later(n, later->def->out[1], *var))
        n->failed = true;
    *mean = now->def->out[0];
    *var = now->def->out[1];
    for (int i = 1; i < 3 && i < n->n_out; i++)
        n->out[i] =
            import_convert(n, later->def->out[i - 1], n->in[i + 2]->type->elem);
    for (int i = 3; i < 5 && i < n->n_out; i++)
        n->out[i] = now->def->out[i - 3];
}

/* Up to opset 8 each element of an image may have its own parameters. */
static glow_dims
parameters(import_node *n, glow_dims x, bool spatial)
{
    glow_dims each = GLOW_DIMS_OF(x.at[1]);

    for (int i = 2; i < x.rank && !spatial; i++)
        if (glow_mul_overflow(each.at[0], x.at[i], &each.at[0]))
            import_refuse(n, "E0711", "too many elements");
    return each;
}

static bool
batch_normalization(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);
    float momentum = import_float(n, "momentum", 0.9f);
    bool spatial = import_flag(n, "spatial", true), training = is_training(n);

    if (!import_operands(n, 5, 5))
        return false;

    glow_value *x = import_in(n, 0), *in[5] = {x};
    glow_dims shape = x->type->shape, each;

    if (shape.rank < 2)
        return import_refuse(n, "E0711", "the operand has no channels");
    each = parameters(n, shape, spatial);
    if (!spatial)
        in[0] = import_reshape(n, x, GLOW_DIMS_OF(shape.at[0], each.at[0]));
    for (int i = 1; i < 5; i++)
        in[i] = import_convert(
            n, spatial ? n->in[i] : import_reshape(n, n->in[i], each),
            x->type->elem);
    if (training && !n->failed)
        batch_statistics(n, in[0], &in[3], &in[4], momentum);
    for (int i = 1; i < 5 && i < n->n_out && !spatial; i++)
        n->out[i] = import_reshape(n, n->out[i], import_shape(n->in[3]));
    x = BUILD(n, batchnormalization, GLOW_IN(in[0], in[1], in[2], in[3], in[4]),
              .channel_idx = 1, .epsilon = epsilon);
    return import_done(n, import_reshape(n, x, shape));
}

static bool
instance_normalization(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);

    import_ignore(n, "consumed_inputs");
    if (!import_operands(n, 3, 3))
        return false;
    if (import_in(n, 0)->type->shape.rank < 3)
        return import_refuse(n, "E0711", "the operand has no image");
    return import_done(
        n, BUILD(n, instancenormalization,
                 GLOW_IN(import_in(n, 0), import_in(n, 1), import_in(n, 2)),
                 .channel_idx = 1, .epsilon = epsilon));
}

/* Expands parameters for groups, as opset 18 has them, to channels. */
static glow_value *
per_channel(import_node *n, glow_value *v, int64_t groups, int64_t channels)
{
    if (n->opset >= 21 || groups < 1)
        return v;
    v = import_reshape(n, v, GLOW_DIMS_OF(groups, 1));
    v = import_broadcast(n, v, GLOW_DIMS_OF(groups, channels / groups));
    return import_reshape(n, v, GLOW_DIMS_OF(channels / groups * groups));
}

static bool
group_normalization(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);
    int64_t groups = import_int(n, "num_groups", 0, 1, INT32_MAX);

    import_int(n, "stash_type", 1, 1, 1);
    if (!import_operands(n, 3, 3))
        return false;

    glow_value *x = import_in(n, 0);

    if (x->type->shape.rank < 3)
        return import_refuse(n, "E0711", "the operand has no image");

    int64_t channels = x->type->shape.at[1];
    glow_value *scale = per_channel(n, import_in(n, 1), groups, channels);
    glow_value *bias = per_channel(n, import_in(n, 2), groups, channels);

    return import_done(n, BUILD(n, groupnormalization, GLOW_IN(x, scale, bias),
                                .channel_idx = 1, .group = groups,
                                .epsilon = epsilon));
}

/*
 * Windows of even size reach further up than down.  The mean of the squares is
 * that of a pooling along the channels:
 *
 *     y = x / (bias + alpha * AvgPool(x * x))^beta
 */
static glow_value *
lrn_even(import_node *n, glow_value *x, int64_t size, float alpha, float beta,
         float bias)
{
    glow_dims shape = x->type->shape, flat = GLOW_DIMS_OF(shape.at[0], 1, 1, 1);
    glow_value *y = import_binary(n, &glow_op_mul, x, x);

    for (int i = 1; i < shape.rank; i++)
        flat.at[i > 1 ? 2 : 1] *= shape.at[i];
    y = BUILD(n, avgpool, GLOW_IN(import_reshape(n, y, flat)),
              .kernels = GLOW_DIMS_OF(size, 1), .strides = GLOW_DIMS_OF(1, 1),
              .pads = GLOW_DIMS_OF((size - 1) / 2, 0, size / 2, 0),
              .count_include_pads = true);
    y = import_reshape(n, y, shape);
    y = import_binary_number(n, &glow_op_mul, y, (double)alpha);
    y = import_binary_number(n, &glow_op_add, y, (double)bias);
    y = import_binary_number(n, &glow_op_pow, y, (double)beta);
    return import_binary(n, &glow_op_div, x, y);
}

static bool
lrn(import_node *n)
{
    int64_t size = import_int(n, "size", 1, 1, INT32_MAX);
    float alpha = import_float(n, "alpha", 1e-4f);
    float beta = import_float(n, "beta", 0.75f);
    float bias = import_float(n, "bias", 1);

    if (!import_operands(n, 1, 1))
        return false;
    if (import_in(n, 0)->type->shape.rank < 2)
        return import_refuse(n, "E0711", "the operand has no channels");
    if (size % 2 == 0)
        return import_done(
            n, lrn_even(n, import_in(n, 0), size, alpha, beta, bias));

    glow_value *x = import_to_nhwc(n, import_in(n, 0));

    x = BUILD(n, localresponsenormalization, GLOW_IN(x),
              .half_window_size = size / 2, .alpha = alpha, .beta = beta,
              .k = bias);
    return import_done(n, import_to_nchw(n, x));
}

/* The mean along `axes`, which are kept with size 1. */
static glow_value *
mean_along(import_node *n, glow_value *x, glow_dims axes)
{
    glow_dims shape = import_shape(x);

    for (int i = 0; i < axes.rank; i++)
        shape.at[axes.at[i]] = 1;
    return import_reshape(
        n, BUILD(n, batchedreducemean, GLOW_IN(x), .axes = axes), shape);
}

static glow_dims
axes_from(int axis, int rank)
{
    glow_dims axes = {0};

    for (int i = axis; i < rank; i++)
        axes.at[axes.rank++] = i;
    return axes;
}

/* (x - mean) / (sqrt(variance) + 1e-9), or only x - mean */
static glow_value *
standardized(import_node *n, glow_value *x, glow_dims axes, bool divides)
{
    glow_value *d = import_binary(n, &glow_op_sub, x, mean_along(n, x, axes));
    glow_value *var;

    if (!divides)
        return d;
    var = mean_along(n, import_binary(n, &glow_op_mul, d, d), axes);
    if (n->failed)
        return NULL;
    var = BUILD_PLAIN(n, sqrt, GLOW_IN(var));
    var = import_binary_number(n, &glow_op_add, var, 1e-9);
    return import_binary(n, &glow_op_div, d, var);
}

static bool
mean_variance_normalization(import_node *n)
{
    bool given;
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1))
        return false;

    glow_dims axes = import_axes(n, 0, INT_MAX, x->type->shape.rank, &given);

    if (n->failed)
        return false;
    if (!given && x->type->shape.rank != 4)
        return import_refuse(n, "E0711",
                             "the rank is %d, but without axes it must be 4",
                             x->type->shape.rank);
    if (!given)
        axes = GLOW_DIMS_OF(0, 2, 3);
    return import_done(n, standardized(n, x, axes, true));
}

/* Up to opset 8: of each image, or of each of its channels. */
static bool
old_mean_variance_normalization(import_node *n)
{
    bool across = import_flag(n, "across_channels", false);
    bool divides = import_flag(n, "normalize_variance", true);
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1))
        return false;
    if (x->type->shape.rank != 4)
        return import_refuse(n, "E0711", "the rank is %d, but must be 4",
                             x->type->shape.rank);
    return import_done(
        n, standardized(n, x, across ? axes_from(1, 4) : axes_from(2, 4),
                        divides));
}

/* Sets the results mean and 1 / sqrt(variance + epsilon), if wanted. */
static void
layer_statistics(import_node *n, glow_value *x, glow_dims axes, float epsilon)
{
    glow_kind kind = x->type->elem;
    glow_kind wide = kind == GLOW_FLOAT64 ? kind : GLOW_FLOAT;
    glow_value *mean, *d;

    if (!import_wants(n, 1) && !import_wants(n, 2))
        return;
    x = import_convert(n, x, wide);
    mean = mean_along(n, x, axes);
    d = import_binary(n, &glow_op_sub, x, mean);
    d = mean_along(n, import_binary(n, &glow_op_mul, d, d), axes);
    d = import_binary_number(n, &glow_op_add, d, epsilon);
    if (n->failed)
        return;
    d = BUILD_PLAIN(n, sqrt, GLOW_IN(d));
    d = import_binary(n, &glow_op_div,
                      import_splat(n, wide, import_shape(d), 1), d);
    if (n->n_out > 1)
        n->out[1] = mean;
    if (n->n_out > 2)
        n->out[2] = d;
}

static bool
layer_normalization(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);

    import_int(n, "stash_type", 1, 1, 1);
    if (!import_operands(n, 2, 3))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape, each = {0};
    int axis = import_axis_attr(n, -1, shape.rank);
    glow_value *scale = import_in(n, 1), *bias = import_in(n, 2);

    for (int i = axis; i < shape.rank; i++)
        each.at[each.rank++] = shape.at[i];
    scale = import_broadcast(n, scale, each);
    bias = import_broadcast(n, bias, each);
    layer_statistics(n, x, axes_from(axis, shape.rank), epsilon);
    return import_done(n, BUILD(n, layernormalization, GLOW_IN(x, scale, bias),
                                .axis = axis, .epsilon = epsilon));
}

static bool
rms_normalization(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);

    import_int(n, "stash_type", 1, 1, 1);
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape, each = {0};
    int axis = import_axis_attr(n, -1, shape.rank);

    for (int i = axis; i < shape.rank; i++)
        each.at[each.rank++] = shape.at[i];
    return import_done(
        n, BUILD(n, rmsnormalization,
                 GLOW_IN(x, import_broadcast(n, import_in(n, 1), each)),
                 .axis = axis, .epsilon = epsilon));
}

/*
 * Softmax: since opset 13 along one axis.  Before, the operand is flattened to
 * a matrix, with the axes from `axis` on as its rows.
 */
static bool
softmax(import_node *n)
{
    bool one_axis = n->opset >= 13;

    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims shape = x->type->shape, matrix = GLOW_DIMS_OF(1, 1);
    int axis = import_axis_attr(n, one_axis ? -1 : 1, shape.rank);
    glow_softmax attrs = {.axis = one_axis ? axis : 1};

    for (int i = 0; i < shape.rank; i++)
        matrix.at[i >= axis] *= shape.at[i];
    if (one_axis || (shape.rank == 2 && axis == 1))
        return import_done(
            n, import_build(n, n->row->op, NULL, GLOW_IN(x), &attrs));
    x = import_build(n, n->row->op, NULL, GLOW_IN(import_reshape(n, x, matrix)),
                     &attrs);
    return import_done(n, import_reshape(n, x, shape));
}

const import_row import_norm_rows[] = {
    {"BatchNormalization", 1, 0, batch_normalization,
     &glow_op_batchnormalization,
     "floats; training too; the other operands are converted to the kind of X"},
    {"GroupNormalization", 18, 0, group_normalization,
     &glow_op_groupnormalization, "floats; rank 3 and up; stash_type 1"},
    {"Hardmax", 1, 0, softmax, &glow_op_hardmax,
     "floats; before opset 13 of the operand as a matrix"},
    {"InstanceNormalization", 1, 0, instance_normalization,
     &glow_op_instancenormalization, "floats; rank 3 and up"},
    {"LRN", 1, 0, lrn, &glow_op_localresponsenormalization,
     "floats; rank 2 and up; even sizes are an AvgPool of squares"},
    {"LayerNormalization", 1, 0, layer_normalization,
     &glow_op_layernormalization,
     "floats; stash_type 1; before opset 17 as ONNX Runtime takes it"},
    {"LogSoftmax", 1, 0, softmax, &glow_op_logsoftmax,
     "floats; before opset 13 of the operand as a matrix"},
    {"MeanVarianceNormalization", 1, 8, old_mean_variance_normalization, NULL,
     "floats; rank 4"},
    {"MeanVarianceNormalization", 9, 0, mean_variance_normalization, NULL,
     "floats; rank 4 without axes"},
    {"RMSNormalization", 23, 0, rms_normalization, &glow_op_rmsnormalization,
     "floats; stash_type 1"},
    {"Softmax", 1, 0, softmax, &glow_op_softmax,
     "floats; before opset 13 of the operand as a matrix"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/*
 * Normalization, and reductions.
 */

#include <inttypes.h>

#include "tools/glow-translate/caffe2/caffe2.h"

/* Axes from `first` up to `end`. */
static glow_dims
axes_from(int first, int end)
{
    glow_dims axes = {0};

    for (int i = first; i < end; i++)
        axes.at[axes.rank++] = i;
    return axes;
}

static glow_value *
sum_over(import_node *n, glow_value *x, glow_dims axes)
{
    if (n->failed || axes.rank == 0)
        return x;
    return BUILD(n, batchedreduceadd, GLOW_IN(x), .axes = axes);
}

static glow_value *
mean_over(import_node *n, glow_value *x, glow_dims axes)
{
    if (n->failed || axes.rank == 0)
        return x;
    return BUILD(n, batchedreducemean, GLOW_IN(x), .axes = axes);
}

/* `v`, which has the first axes of a shape, with axes of length 1 for others. */
static glow_value *
with_ones(import_node *n, glow_value *v, int rank)
{
    glow_dims shape = import_shape(v);

    while (shape.rank < rank)
        shape.at[shape.rank++] = 1;
    return import_reshape(n, v, shape);
}

/* Normalization. */

static bool
spatial_bn(import_node *n)
{
    bool last = caffe2_channels_last(n);
    float epsilon = import_float(n, "epsilon", 1e-5f);

    import_ignore(n, "momentum");
    if (!import_operands(n, 5, 5))
        return false;

    int rank = n->in[0]->type->shape.rank;

    if (rank < 2)
        return import_refuse(n, "E0711", "the operand has no channels");
    return import_done(
        n, BUILD(n, batchnormalization,
                 GLOW_IN(n->in[0], n->in[1], n->in[2], n->in[3], n->in[4]),
                 .channel_idx = last ? rank - 1 : 1, .epsilon = epsilon));
}

static bool
lrn(import_node *n)
{
    bool last = caffe2_channels_last(n);
    int64_t size = import_int(n, "size", 0, 0, INT32_MAX);
    float alpha = import_float(n, "alpha", 0);
    float beta = import_float(n, "beta", 0);
    float bias = import_float(n, "bias", 1);

    if (!import_operands(n, 1, 1))
        return false;
    if (size % 2 == 0)
        return import_refuse(n, "E0705",
                             "size is %" PRId64 "; only odd ones are supported",
                             size);

    glow_value *x = last ? n->in[0] : import_to_nhwc(n, n->in[0]);

    x = BUILD(n, localresponsenormalization, GLOW_IN(x),
              .half_window_size = size / 2, .alpha = alpha, .beta = beta,
              .k = bias);
    return import_done(n, last ? x : import_to_nchw(n, x));
}

/*
 * LayerNorm over the axes from `axis` on.  The other two results are mean and
 * standard deviation, of the axes before.
 */
static bool
layer_norm(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);

    import_ignore(n, "elementwise_affine");
    if (!import_operands(n, 1, 3))
        return false;

    glow_value *x = n->in[0], *scale = import_in(n, 1), *bias = import_in(n, 2);
    glow_dims shape = x->type->shape, each = {0};
    int axis = import_axis_attr(n, 1, shape.rank);
    glow_dims axes = axes_from(axis, shape.rank);

    for (int i = axis; i < shape.rank; i++)
        each.at[each.rank++] = shape.at[i];
    if (scale)
        scale = import_reshape(n, scale, each);
    if (bias)
        bias = import_reshape(n, bias, each);
    if (import_wants(n, 1) || import_wants(n, 2)) {
        glow_value *mean = mean_over(n, x, axes), *d;

        d = import_binary(n, &glow_op_sub, x, with_ones(n, mean, shape.rank));
        d = mean_over(n, import_binary(n, &glow_op_mul, d, d), axes);
        d = import_binary_number(n, &glow_op_add, d, (double)epsilon);
        d = BUILD_PLAIN(n, sqrt, GLOW_IN(d));
        if (n->failed)
            return false;
        shape.rank = axis;
        shape.at[shape.rank++] = 1;
        n->out[1] = import_reshape(n, mean, shape);
        if (n->n_out > 2)
            n->out[2] = import_reshape(n, d, shape);
    }
    return import_done(n, BUILD(n, layernormalization, GLOW_IN(x, scale, bias),
                                .axis = axis, .epsilon = epsilon));
}

/* x / sqrt(mean(x^2) + eps) * gamma + beta over each row; and 1 / sqrt(...). */
static bool
rms_norm(import_node *n)
{
    float eps = import_float(n, "eps", 0);

    if (!import_operands(n, 3, 3))
        return false;

    glow_value *x = n->in[0], *r, *one;
    glow_dims shape = x->type->shape;
    glow_dims axes = axes_from(shape.rank - 1, shape.rank);

    if (shape.rank < 1)
        return import_refuse(n, "E0711", "a scalar has no rows");
    r = mean_over(n, import_binary(n, &glow_op_mul, x, x), axes);
    r = import_binary_number(n, &glow_op_add, r, (double)eps);
    r = BUILD_PLAIN(n, sqrt, GLOW_IN(r));
    one = import_splat(n, x->type->elem, import_shape(r), 1);
    r = import_binary(n, &glow_op_div, one, r);
    if (n->n_out > 1)
        n->out[1] = r;
    x = import_binary(n, &glow_op_mul, x, with_ones(n, r, shape.rank));
    x = import_binary(n, &glow_op_mul, x, n->in[1]);
    return import_done(n, import_binary(n, &glow_op_add, x, n->in[2]));
}

/* Reductions. */

/* The last `num_reduce_dim` axes, summed or averaged. */
static bool
reduce_back(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = n->in[0];
    int rank = x->type->shape.rank;
    int64_t count = import_int(n, "num_reduce_dim", 1, 0, rank);
    const glow_reduce attrs = {axes_from(rank - (int)count, rank)};

    if (n->failed || count == 0)
        return import_done(n, x);
    return import_done(n,
                       import_build(n, n->row->op, NULL, GLOW_IN(x), &attrs));
}

static bool
reduce_front(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = n->in[0];
    int rank = x->type->shape.rank;
    int64_t count = import_int(n, "num_reduce_dim", 1, 0, rank);
    const glow_reduce attrs = {axes_from(0, (int)count)};

    if (n->failed || count == 0)
        return import_done(n, x);
    return import_done(n,
                       import_build(n, n->row->op, NULL, GLOW_IN(x), &attrs));
}

static bool
averaged_loss(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, mean_over(n, n->in[0],
                                    axes_from(0, import_shape(n->in[0]).rank)));
}

/* The sum of |x|, or of x^2, as a tensor of one element. */
static bool
lp_norm(import_node *n)
{
    int64_t p = import_int(n, "p", 2, 1, 2);
    bool average = import_flag(n, "average", false);

    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = n->in[0];
    glow_dims axes = axes_from(0, import_shape(x).rank);

    x = p == 1 ? BUILD_PLAIN(n, abs, GLOW_IN(x))
               : import_binary(n, &glow_op_mul, x, x);
    x = average ? mean_over(n, x, axes) : sum_over(n, x, axes);
    return import_done(n, import_reshape(n, x, GLOW_DIMS_OF(1)));
}

static bool
arg_extreme(import_node *n)
{
    bool keep = import_flag(n, "keepdims", true);

    if (!import_operands(n, 1, 1))
        return false;

    const glow_argmax attrs = {
        .axis = import_axis_attr(n, -1, import_shape(n->in[0]).rank),
        .keep_dims = keep,
    };

    return import_done(
        n, import_build(n, n->row->op, NULL, GLOW_IN(n->in[0]), &attrs));
}

const import_row caffe2_norm_rows[] = {
    {"ArgMax", 1, 0, arg_extreme, &glow_op_argmax, NULL},
    {"ArgMin", 1, 0, arg_extreme, &glow_op_argmin, NULL},
    {"AveragedLoss", 1, 0, averaged_loss, NULL, NULL},
    {"LRN", 1, 0, lrn, NULL, NULL},
    {"LayerNorm", 1, 0, layer_norm, NULL, NULL},
    {"LpNorm", 1, 0, lp_norm, NULL, NULL},
    {"RMSNorm", 1, 0, rms_norm, NULL, NULL},
    {"ReduceBackMax", 1, 0, reduce_back, &glow_op_batchedreducemax, NULL},
    {"ReduceBackMean", 1, 0, reduce_back, &glow_op_batchedreducemean, NULL},
    {"ReduceBackSum", 1, 0, reduce_back, &glow_op_batchedreduceadd, NULL},
    {"ReduceFrontMax", 1, 0, reduce_front, &glow_op_batchedreducemax, NULL},
    {"ReduceFrontMean", 1, 0, reduce_front, &glow_op_batchedreducemean, NULL},
    {"ReduceFrontSum", 1, 0, reduce_front, &glow_op_batchedreduceadd, NULL},
    {"SpatialBN", 1, 0, spatial_bn, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

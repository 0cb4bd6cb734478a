/*
 * Derivatives of normalizations.
 *
 * Those of layers find the statistics of a row again; those of a batch are operands.
 */

#include "ir/derivatives/common.h"

#define GRADIENT(id)                               \
    const glow_derivative glow_derivative_##id = { \
        .gradient = id##_gradient,                 \
    }

/* All axes but `axis`. */
static glow_dims
axes_without(int rank, int axis)
{
    glow_dims axes = {.rank = 0};

    for (int k = 0; k < rank; k++)
        if (k != axis)
            axes.at[axes.rank++] = k;
    return axes;
}

static glow_value *
mean_of(glow_builder *b, glow_value *v, glow_dims axes)
{
    return GLOW_BUILD(b, batchedreducemean, GLOW_IN(v), .axes = axes);
}

/* A tensor whose axis is that of channels, repeated along all others. */
static glow_value *
by_channel(glow_builder *b, glow_value *v, int channel, glow_dims shape)
{
    return glow_grad_repeat(b, v, axes_without(shape.rank, channel), shape);
}

/* Layer and RMS. */

/* One operator has all gradients, and finds the statistics again. */
static bool
by_rows(glow_builder *b, const glow_gradient *g, const glow_op *op)
{
    const glow_node *n = g->node;
    glow_value *d = g->by_result[0];

    if (glow_type_count(d->type) == 0)
        return true;
    d = glow_build(b, op, NULL, GLOW_IN(n->in[0], n->in[1], d), n->attrs);
    for (int i = 0; d && i < n->n_in; i++)
        if (n->in[i])
            g->by_operand[i] = d->def->out[i];
    return d;
}

static bool
layernormalization_gradient(glow_builder *b, const glow_gradient *g)
{
    return by_rows(b, g, &glow_op_layernormalizationgrad);
}
GRADIENT(layernormalization);

static bool
rmsnormalization_gradient(glow_builder *b, const glow_gradient *g)
{
    return by_rows(b, g, &glow_op_rmsnormalizationgrad);
}
GRADIENT(rmsnormalization);

/* Batch. */

/* True if Mean and Var are the statistics of Input itself. */
static bool
is_of_batch(const glow_node *n)
{
    const glow_batchnormalization *a = n->attrs;
    const glow_node *m = n->in[3]->def;
    const glow_meanvarnormalization *by;

    if (!m || m->op != &glow_op_meanvarnormalization || n->in[3] != m->out[0] ||
        n->in[4] != m->out[1] || n->in[0] != m->in[0])
        return false;
    by = m->attrs;
    return by->momentum == 1 && by->channel_idx == a->channel_idx;
}

/* The gradients by Input, through Mean and Var as well, by Scale and by Bias. */
static bool
of_batch(glow_builder *b, const glow_gradient *g)
{
    const glow_node *n = g->node;
    glow_value *d = glow_build(
        b, &glow_op_batchnormalizationgrad, NULL,
        GLOW_IN(n->in[0], n->in[1], n->in[3], n->in[4], g->by_result[0]),
        n->attrs);

    for (int i = 0; d && i < 3; i++)
        g->by_operand[i] = d->def->out[i];
    return d;
}

/*
 * Where the statistics are those of Input, one operator has all gradients.  Else, with
 * r = 1 / sqrt(Var + Epsilon) and x = (Input - Mean) r: by Bias the sum of d, by
 * Scale the sum of d x, by Input d Scale r, by Mean minus its sum, by Var
 * -1/2 Scale r^2 times the sum of d x.
 */
static bool
batchnormalization_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_node *n = g->node;
    const glow_batchnormalization *a = n->attrs;
    glow_dims shape = n->in[0]->type->shape;
    glow_dims axes = axes_without(shape.rank, a->channel_idx);
    glow_value *d = g->by_result[0], *v, *x, *by_bias, *by_scale, *rate;

    if (g->wanted[0] && is_of_batch(n))
        return of_batch(b, g);
    v = glow_grad_plus(b, (double)a->epsilon, n->in[4]);
    rate = glow_build_sqrt(b, v);
    x = glow_build_sub(b, n->in[0],
                       by_channel(b, n->in[3], a->channel_idx, shape));
    by_bias = glow_grad_sum(b, d, axes);
    by_scale = glow_grad_sum(b, glow_build_mul(b, d, x), axes);
    by_scale = glow_build_div(b, by_scale, rate);
    rate = glow_build_div(b, n->in[1], rate);
    g->by_operand[0] =
        glow_build_mul(b, d, by_channel(b, rate, a->channel_idx, shape));
    g->by_operand[1] = by_scale;
    g->by_operand[2] = by_bias;
    g->by_operand[3] = glow_build_neg(b, glow_build_mul(b, rate, by_bias));
    v = glow_build_div(b, glow_build_mul(b, n->in[1], by_scale), v);
    g->by_operand[4] = glow_grad_times(b, -0.5, v);
    return !glow_builder_failed(b);
}
GRADIENT(batchnormalization);

/* The gradient by Input of the mean and the variance of a batch, where d is by both. */
static glow_value *
to_batch(glow_builder *b, const glow_gradient *g, double momentum)
{
    const glow_node *n = g->node;
    int c = ((const glow_meanvarnormalization *)n->attrs)->channel_idx;
    glow_value *x = n->in[0], *by_mean = g->by_result[0], *mean;
    glow_value *by_var = g->by_result[1];
    glow_dims shape = x->type->shape, axes = axes_without(shape.rank, c);
    double count = (double)(glow_type_count(x->type) / shape.at[c]);

    if (by_mean)
        by_mean = by_channel(b, glow_grad_times(b, momentum / count, by_mean),
                             c, shape);
    if (!by_var)
        return by_mean;
    mean = momentum == 1 ? n->out[0] : mean_of(b, x, axes);
    x = glow_build_sub(b, x, by_channel(b, mean, c, shape));
    by_var = glow_grad_times(b, 2 * momentum / count, by_var);
    by_var = glow_build_mul(b, x, by_channel(b, by_var, c, shape));
    return by_mean ? glow_build_add(b, by_mean, by_var) : by_var;
}

static bool
meanvarnormalization_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_meanvarnormalization *a = g->node->attrs;
    double momentum = (double)a->momentum;

    if (g->wanted[0] && glow_type_count(g->node->in[0]->type) > 0)
        g->by_operand[0] = to_batch(b, g, momentum);
    for (int i = 0; i < 2; i++)
        if (g->wanted[1 + i] && g->by_result[i] && momentum != 1)
            g->by_operand[1 + i] =
                glow_grad_times(b, 1 - momentum, g->by_result[i]);
    return !glow_builder_failed(b);
}
GRADIENT(meanvarnormalization);

/* Local responses. */

/* Sums over up to `half` neighbours on each side along the last axis. */
static glow_value *
window_sums(glow_builder *b, glow_value *v, int64_t half)
{
    glow_dims shape = v->type->shape;
    int64_t size = shape.at[shape.rank - 1];
    int64_t rows = glow_type_count(v->type) / size, width;
    glow_type filter;
    glow_value *ones;

    half = half < size ? half : size - 1;
    width = 2 * half + 1;
    filter = glow_type_of(v->type->elem, GLOW_DIMS_OF(1, width, 1));
    ones = glow_build_splat(b, "ones",
                            glow_type_get(glow_builder_context(b), filter), 1);
    v = glow_build_reshape(b, v, GLOW_DIMS_OF(rows, size, 1));
    v = GLOW_BUILD(b, convolution, GLOW_IN(v, ones, NULL),
                   .kernels = GLOW_DIMS_OF(width), .strides = GLOW_DIMS_OF(1),
                   .pads = GLOW_DIMS_OF(half, half), .group = 1,
                   .dilation = GLOW_DIMS_OF(1));
    return glow_build_reshape(b, v, shape);
}

/*
 * With u = K + Alpha / w times the sum of squares in a window of w elements, y = x /
 * u^Beta: d / u^Beta - 2 Alpha Beta / w x times the sum of d y / u in the window.
 */
static bool
localresponsenormalization_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_localresponsenormalization *l = g->node->attrs;
    glow_value *x = g->node->in[0], *y = g->node->out[0];
    glow_value *d = g->by_result[0], *u, *sum;
    double width = 2 * (double)l->half_window_size + 1;
    double alpha = (double)l->alpha, beta = (double)l->beta;

    if (glow_type_count(d->type) == 0)
        return true;
    u = window_sums(b, glow_build_mul(b, x, x), l->half_window_size);
    u = glow_grad_plus(b, (double)l->k, glow_grad_times(b, alpha / width, u));
    sum = glow_build_div(b, glow_build_mul(b, d, y), u);
    sum = window_sums(b, sum, l->half_window_size);
    sum =
        glow_grad_times(b, 2 * alpha * beta / width, glow_build_mul(b, x, sum));
    u = GLOW_BUILD_PLAIN(b, pow, GLOW_IN(u, glow_grad_number(b, u, beta)));
    g->by_operand[0] = glow_build_sub(b, glow_build_div(b, d, u), sum);
    return g->by_operand[0];
}
GRADIENT(localresponsenormalization);

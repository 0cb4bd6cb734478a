/*
 * merge-batchnorm: let a linear operator do the scaling of the batch
 * normalization behind it.
 *
 *     %y = Convolution(%x, @w, @b)
 *     %z = BatchNormalization(%y, @scale, @bias, @mean, @var)
 *  =>
 *     %z = Convolution(%x, @w', @b')
 *
 * With s = scale / sqrt(var + epsilon), channel by channel,
 *
 *     (w * x + b - mean) s + bias  =  (s w) * x + (b - mean) s + bias
 *
 * where w * x is linear in w, and channel o of the result depends on the weights
 * of channel o alone.  That holds for Convolution, ConvTranspose (whose weights
 * have their channel of the result last, within its group) and FullyConnected.
 * w' = s w and b' = (b - mean) s + bias are computed once, here, in float64 and
 * rounded once; multiplying before summing changes the last bits of the result,
 * so this pass keeps it only up to the order of roundings.
 *
 * The normalization must be along the last axis, its parameters, the weights and
 * the bias must be constants, and nothing else may use %y.  Importers leave
 * normalization along axis 1 of NCHW, between transposes: sink-transpose comes
 * first.
 */

#include <math.h>

#include "glow/ops.h"
#include "glow/pass.h"

/* The channel of the result that element `i` of the weights serves. */
typedef int64_t (*channel_fn)(const glow_node *n, int64_t i);

/* Filter [O, kernel..., C / Group] */
static int64_t
channel_of_convolution(const glow_node *n, int64_t i)
{
    glow_dims filter = n->in[1]->type->shape;

    return i / (glow_dims_count(filter) / filter.at[0]);
}

/* Filter [C, kernel..., O / Group] */
static int64_t
channel_of_convtranspose(const glow_node *n, int64_t i)
{
    const glow_convtranspose *t = n->attrs;
    glow_dims filter = n->in[1]->type->shape;
    int64_t each = filter.at[filter.rank - 1];
    int64_t c = i / (glow_dims_count(filter) / filter.at[0]);

    return c / (filter.at[0] / t->group) * each + i % each;
}

/* Weights [K, O] */
static int64_t
channel_of_fullyconnected(const glow_node *n, int64_t i)
{
    return i % n->in[1]->type->shape.at[1];
}

static const struct {
    const glow_op *op;
    channel_fn channel;
} linear[] = {
    {&glow_op_convolution, channel_of_convolution},
    {&glow_op_convtranspose, channel_of_convtranspose},
    {&glow_op_fullyconnected, channel_of_fullyconnected},
};

static channel_fn
channel_of(const glow_node *n)
{
    for (size_t i = 0; n && i < sizeof linear / sizeof linear[0]; i++)
        if (linear[i].op == n->op)
            return linear[i].channel;
    return NULL;
}

/* True if `v` is a constant, or omitted, of a dense float kind. */
static bool
is_known(const glow_value *v)
{
    return !v ||
           (glow_is_constant(v) && glow_is_float(v->type->elem) &&
            v->type->strides.rank == 0 && v->storage->payload != GLOW_ELIDED);
}

static bool
is_mergeable(const glow_node *norm, const glow_node *n)
{
    const glow_batchnormalization *bn = norm->attrs;

    if (!channel_of(n) || !glow_has_one_use(n->out[0]) || n->pred ||
        norm->pred || bn->channel_idx != n->out[0]->type->shape.rank - 1)
        return false;
    for (int i = 1; i < n->n_in; i++)
        if (!is_known(n->in[i]))
            return false;
    for (int i = 1; i < norm->n_in; i++)
        if (!is_known(norm->in[i]))
            return false;
    return true;
}

/* The numbers of a constant; zeros if it is omitted.  NULL after a report. */
static double *
numbers(glow_builder *b, const glow_value *v, int64_t count)
{
    double *x = GLOW_NEW_ARRAY(glow_builder_scratch(b), double, count + 1);
    const glow_tensor *t = v ? glow_constant_tensor(v->storage) : NULL;

    if (v && !t)
        return NULL;
    for (int64_t i = 0; v && i < count; i++)
        x[i] = glow_get_double(t, i);
    return x;
}

typedef struct affine { /* z = scale y + shift, channel by channel */
    const double *scale, *shift;
} affine;

/* What `norm` does to a result that still lacks `bias`.  False: a report. */
static bool
find_affine(glow_builder *b, const glow_node *norm, const glow_value *bias,
            int64_t channels, affine *out)
{
    const glow_batchnormalization *bn = norm->attrs;
    double *scale = numbers(b, norm->in[1], channels);
    double *shift = numbers(b, norm->in[2], channels);
    double *mean = numbers(b, norm->in[3], channels);
    double *var = numbers(b, norm->in[4], channels);
    double *old = numbers(b, bias, channels);

    if (!scale || !shift || !mean || !var || !old)
        return false;
    for (int64_t c = 0; c < channels; c++) {
        scale[c] /= sqrt(var[c] + (double)bn->epsilon);
        shift[c] += (old[c] - mean[c]) * scale[c];
    }
    *out = (affine){scale, shift};
    return true;
}

static glow_value *
scaled_weights(glow_builder *b, const glow_node *n, affine a)
{
    const glow_value *w = n->in[1];
    const glow_tensor *from = glow_constant_tensor(w->storage);
    channel_fn channel = channel_of(n);

    if (!from)
        return NULL;

    glow_value *scaled = glow_build_constant(b, "weights", w->type);

    for (int64_t i = 0; i < glow_type_count(w->type); i++)
        glow_set_double(&scaled->storage->tensor, i,
                        glow_get_double(from, i) * a.scale[channel(n, i)]);
    return scaled;
}

static glow_value *
new_bias(glow_builder *b, const glow_node *norm, int64_t channels, affine a)
{
    glow_value *bias = glow_build_constant(b, "bias", norm->in[2]->type);

    for (int64_t c = 0; c < channels; c++)
        glow_set_double(&bias->storage->tensor, c, a.shift[c]);
    return bias;
}

static glow_value *
merge(glow_builder *b, glow_node *norm)
{
    const glow_node *n = norm->in[0]->def;
    affine a;

    if (!n || !is_mergeable(norm, n))
        return NULL;

    glow_dims shape = n->out[0]->type->shape;
    int64_t channels = shape.at[shape.rank - 1];

    if (!find_affine(b, norm, n->in[2], channels, &a))
        return NULL;
    glow_builder_fuses(b, n);

    glow_value *weights = scaled_weights(b, n, a);
    glow_value *bias = new_bias(b, norm, channels, a);

    return glow_build(b, n->op, NULL, GLOW_IN(n->in[0], weights, bias),
                      n->attrs);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_batchnormalization, merge);
}

const glow_pass glow_pass_merge_batchnorm = {
    .name = "merge-batchnorm",
    .summary = "scale the weights instead of the result",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Jacob et al., arXiv:1712.05877, section 3.2",
};

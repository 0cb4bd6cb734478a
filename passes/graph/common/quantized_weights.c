/*
 * Constant weights and biases as quantized elements: symmetric, -127 to 127 of i8, with
 * the scale of a channel, or of all.
 *
 * A bias of i32 has the unit of the sum, scale of Input times scale of weights, and
 * the scale of the weights is raised where the bias would take more than 30 bits.  One
 * of 8 or 16 bits has that unit too, unless it needs a larger one.
 *
 * Rounding the weights of a channel moves the mean of its result by the sum of error
 * times mean of Input; the bias takes that back (Nagel et al., arXiv:1906.04721, section
 * 4.2).  Elements of padding count as others do.
 */

#include <inttypes.h>
#include <math.h>

#include "passes/graph/common/quantizing.h"

typedef struct filling {
    quantizing *q;
    const glow_type *x;
    const glow_tensor *w, *bias; /* bias: may be NULL */
    weight_layout l;
    weight_form form;
    double *correction; /* of each bias, or NULL */
} filling;

/*
 * Means of Input: weight i of channel c multiplies elements of channel
 * c / outputs * inputs + i / inner % inputs.
 */
typedef struct input_means {
    const float *at;
    int64_t outputs, inputs, inner;
} input_means;

static double
weight_at(const filling *f, int64_t c, int64_t i)
{
    return glow_get_double(f->w, c * f->l.step + i * f->l.stride);
}

static double
bias_at(const filling *f, int64_t c)
{
    return (f->bias ? glow_get_double(f->bias, c) : 0) +
           (f->correction ? f->correction[c] : 0);
}

/* Largest absolute value of a channel; infinite if one is NaN. */
static double
largest_of(const filling *f, int64_t c)
{
    double most = 0;

    for (int64_t i = 0; i < f->l.depth; i++) {
        double x = fabs(weight_at(f, c, i));

        most = isnan(x) ? (double)INFINITY : fmax(most, x);
    }
    return most;
}

static glow_kind
weight_kind(const filling *f)
{
    return f->q->kind == GLOW_UINT8Q ? GLOW_INT8Q : f->q->kind;
}

static float
scale_of(const filling *f, double largest, double bias)
{
    return glow_quantization_of_weights(
        weight_kind(f), (glow_quantization_schema)f->q->o->schema, largest,
        (double)f->x->scale, f->q->bias_kind == GLOW_INT32Q ? bias : 0);
}

/* Sets the scale of each channel; false if a number is not finite. */
static bool
choose_scales(const filling *f, float *scales)
{
    double all = 0, most_bias = 0;

    for (int64_t c = 0; c < f->l.channels; c++) {
        double w = largest_of(f, c), b = fabs(bias_at(f, c));

        if (!isfinite(w) || !isfinite(b)) {
            f->q->wrong = "its weights are not all finite";
            return false;
        }
        all = fmax(all, w);
        most_bias = fmax(most_bias, b);
        scales[c] = scale_of(f, w, b);
    }
    for (int64_t c = 0; c < f->l.channels && f->form == WEIGHTS_PLAIN; c++)
        scales[c] = scale_of(f, all, most_bias);
    return true;
}

static glow_value *
constant_of(const filling *f, const char *suffix, glow_kind kind, float scale,
            glow_dims shape)
{
    glow_type t = glow_type_of(kind, shape);

    if (glow_is_quantized(kind))
        t.scale = scale;
    return glow_build_constant(f->q->b, suffix,
                               glow_type_get(glow_builder_context(f->q->b), t));
}

/* The largest absolute value of an element of Input less its offset. */
static int64_t
reach_of(const glow_type *x)
{
    int64_t low = x->offset - glow_quantized_least(x->elem);
    int64_t high = glow_quantized_most(x->elem) - x->offset;

    return low > high ? low : high;
}

/* Writes channel `c`; returns the largest absolute value of its sum, less the bias. */
static int64_t
fill_channel(const filling *f, const glow_tensor *to, int64_t c, float scale)
{
    glow_type t = {.elem = to->type->elem, .scale = scale};
    int64_t sum = 0, reach = reach_of(f->x);
    bool as_rows = f->form == WEIGHTS_BY_ROW;

    for (int64_t i = 0; i < f->l.depth; i++) {
        int64_t v = glow_quantize(&t, weight_at(f, c, i));

        glow_set_int(
            to, as_rows ? c * f->l.depth + i : c * f->l.step + i * f->l.stride,
            v);
        sum = glow_add_most(sum, (v < 0 ? -v : v) * reach);
    }
    return sum;
}

/* The type of the bias of a channel whose sum has the unit `unit`. */
static glow_type
bias_type(const filling *f, double unit, double bias)
{
    double needs = fabs(bias) / (double)glow_quantized_most(f->q->bias_kind);

    return (glow_type){
        .elem = f->q->bias_kind,
        .scale =
            (float)(f->q->bias_kind == GLOW_INT32Q ? unit : fmax(unit, needs))};
}

/* True if a sum of 32 bits holds `sum` and a bias. */
static bool
holds(const filling *f, int64_t sum, double bias, double unit)
{
    if (f->x->elem == GLOW_INT16Q ||
        (double)sum + fabs(bias) / unit < 2147483647.0)
        return true;
    f->q->wrong = glow_arena_printf(
        glow_run_scratch(f->q->run),
        "a sum of %" PRId64 " products may reach %.0f, beyond 31 bits",
        f->l.depth, (double)sum + fabs(bias) / unit);
    return false;
}

/* A bias whose elements have one scale, of its type. */
static glow_type
plain_bias_type(const filling *f, const float *scales)
{
    double most = 0;

    for (int64_t c = 0; c < f->l.channels; c++)
        most = fmax(most, fabs(bias_at(f, c)));
    if (f->form == WEIGHTS_PLAIN)
        return bias_type(f, (double)f->x->scale * (double)scales[0], most);
    /* Rescaled to the unit of each row, which is larger than this of 30 bits. */
    return (glow_type){.elem = f->q->bias_kind,
                       .scale = glow_quantization_of_weights(
                           f->q->bias_kind, GLOW_ASYMMETRIC, most, 1, 0)};
}

static glow_value *
make_bias(const filling *f, const float *scales)
{
    bool by_channel = f->form == WEIGHTS_BY_CHANNEL;
    glow_type t = plain_bias_type(f, scales);
    glow_value *v = constant_of(f, "bias", t.elem, by_channel ? 1 : t.scale,
                                GLOW_DIMS_OF(f->l.channels));

    for (int64_t c = 0; c < f->l.channels; c++) {
        if (by_channel)
            t = bias_type(f, (double)f->x->scale * (double)scales[c],
                          bias_at(f, c));
        glow_set_int(&v->storage->tensor, c, glow_quantize(&t, bias_at(f, c)));
    }
    return v;
}

static void
make_scales(const filling *f, const float *scales, quantized_weights *out)
{
    glow_dims each = GLOW_DIMS_OF(f->l.channels);
    bool by_channel = f->form == WEIGHTS_BY_CHANNEL;

    if (f->form == WEIGHTS_PLAIN)
        return;
    out->scales = constant_of(f, "scales", GLOW_FLOAT, 1, each);
    out->offsets = constant_of(f, "offsets", GLOW_INDEX32, 1, each);
    if (by_channel) {
        out->bias_scales = constant_of(f, "bias.scales", GLOW_FLOAT, 1, each);
        out->bias_offsets =
            constant_of(f, "bias.offsets", GLOW_INDEX32, 1, each);
    }
    for (int64_t c = 0; c < f->l.channels; c++) {
        double unit = (double)f->x->scale * (double)scales[c];

        glow_set_double(&out->scales->storage->tensor, c, (double)scales[c]);
        if (by_channel)
            glow_set_double(&out->bias_scales->storage->tensor, c,
                            (double)bias_type(f, unit, bias_at(f, c)).scale);
    }
}

static bool
fill(const filling *f, const float *scales, glow_dims shape,
     quantized_weights *out)
{
    float own = f->form == WEIGHTS_PLAIN ? scales[0] : 1;
    bool ok = true;

    *out = (quantized_weights){
        .weights = constant_of(f, "weights", weight_kind(f), own, shape)};
    for (int64_t c = 0; c < f->l.channels; c++)
        ok &= holds(
            f, fill_channel(f, &out->weights->storage->tensor, c, scales[c]),
            bias_at(f, c), (double)f->x->scale * (double)scales[c]);
    make_scales(f, scales, out);
    out->bias = make_bias(f, scales);
    return ok;
}

/* Products. */

bool
glow_quantizing_is_product(const glow_node *n)
{
    return (n->op == &glow_op_convolution || n->op == &glow_op_fullyconnected ||
            n->op == &glow_op_matmul) &&
           glow_is_constant(n->in[1]) &&
           (n->n_in < 3 || !n->in[2] || glow_is_constant(n->in[2]));
}

weight_layout
glow_quantizing_layout(const glow_node *n)
{
    glow_dims w = n->in[1]->type->shape;
    int64_t depth = glow_dims_product(w, 1, w.rank);

    return n->op == &glow_op_convolution
               ? (weight_layout){w.at[0], depth, depth, 1}
               : (weight_layout){w.at[1], 1, w.at[0], w.at[1]};
}

/* False if the module has no means, or of another axis. */
static bool
means_of(const quantizing *q, const glow_node *n, input_means *m)
{
    const glow_value_range *r = n->id < q->n_types ? q->inputs[n->id] : NULL;
    const glow_convolution *conv = GLOW_AS(convolution, n);
    const glow_fullyconnected *fc = GLOW_AS(fullyconnected, n);
    glow_dims x = n->in[0]->type->shape;
    int64_t groups = conv ? conv->group : 1;

    if (!r || !r->channel_mean || r->axis < (fc ? fc->axis : x.rank - 1))
        return false;
    *m = (input_means){.at = r->channel_mean,
                       .outputs = glow_quantizing_layout(n).channels / groups,
                       .inputs = r->channels / groups,
                       .inner = glow_dims_product(x, r->axis + 1, x.rank)};
    return m->outputs > 0 && m->inputs > 0;
}

/* Sets f->correction: less the mean of each channel's error. */
static void
correct(filling *f, const input_means *m, const float *scales)
{
    double *by =
        GLOW_NEW_ARRAY(glow_run_scratch(f->q->run), double, f->l.channels + 1);

    for (int64_t c = 0; c < f->l.channels; c++) {
        glow_type t = {.elem = weight_kind(f), .scale = scales[c]};

        for (int64_t i = 0; i < f->l.depth; i++) {
            double w = weight_at(f, c, i);
            double e = glow_dequantize(&t, glow_quantize(&t, w)) - w;

            by[c] -= e * (double)m->at[c / m->outputs * m->inputs +
                                       i / m->inner % m->inputs];
        }
    }
    f->correction = by;
}

/* The weights of `n`, and the scale of each channel; NULL with q->wrong set. */
static float *
begin(quantizing *q, const glow_node *n, const glow_type *x, weight_form form,
      filling *f)
{
    const glow_value *bias = n->n_in > 2 ? n->in[2] : NULL;
    float *scales;

    *f = (filling){.q = q,
                   .x = x,
                   .l = glow_quantizing_layout(n),
                   .form = form,
                   .w = glow_constant_tensor(n->in[1]->storage),
                   .bias = bias ? glow_constant_tensor(bias->storage) : NULL};
    if (!f->w || (bias && !f->bias)) {
        q->wrong = "its weights are not at hand";
        return NULL;
    }
    if (f->l.channels == 0 || f->l.depth == 0) {
        q->wrong = "it has no weights";
        return NULL;
    }
    scales = GLOW_NEW_ARRAY(glow_run_scratch(q->run), float, f->l.channels);
    return choose_scales(f, scales) ? scales : NULL;
}

bool
glow_quantizing_weights(quantizing *q, const glow_node *n, const glow_type *x,
                        weight_form form, glow_dims shape,
                        quantized_weights *out)
{
    filling f;
    float *scales = begin(q, n, x, form, &f);
    input_means m;

    if (!scales)
        return false;
    if (q->o->correct_bias && means_of(q, n, &m))
        correct(&f, &m, scales);
    return fill(&f, scales, shape, out);
}

bool
glow_quantizing_corrected(quantizing *q, const glow_node *n, const glow_type *x,
                          weight_form form, double **out)
{
    filling f;
    float *scales = begin(q, n, x, form, &f);
    input_means m;

    if (!scales || !means_of(q, n, &m))
        return false;
    correct(&f, &m, scales);
    *out = GLOW_NEW_ARRAY(glow_run_scratch(q->run), double, f.l.channels);
    for (int64_t c = 0; c < f.l.channels; c++)
        (*out)[c] = bias_at(&f, c);
    return true;
}

/*
 * A plugin of three passes that quantize convolutions, or their filters alone, or take a
 * RescaleQuantized before a Mul away, right or with a fault that -verify-semantics has to
 * find.
 */

#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/plugin.h"
#include "glow/profile.h"

typedef enum fault {
    NONE,
    AXIS,   /* scales of weights in another order than the channels */
    PAD,    /* pads of the element 0, not of the offset */
    BIAS,   /* a bias that takes the offset of Input a second time */
    FLOOR,  /* weights rounded down */
    OFFSET, /* weights whose offset is 1 where they were made for 0 */
    SCALE,  /* weights whose scales are a tenth too large */
} fault;

static const char *const faults[] = {"none",  "axis",   "pad",   "bias",
                                     "floor", "offset", "scale", NULL};

typedef struct misquantize_options {
    int fault;
} misquantize_options;

static const glow_type *
type_for(glow_builder *b, const glow_value *v)
{
    const glow_value_range *r = glow_get_value_range(v);
    glow_type t = *v->type;

    t.elem = GLOW_INT8Q;
    if (!r || glow_quantization_of(&t, GLOW_ASYMMETRIC, (double)r->min,
                                   (double)r->max, glow_builder_scratch(b)))
        return NULL;
    return glow_type_get(glow_builder_context(b), t);
}

static glow_value *
list_of(glow_builder *b, glow_kind kind, int64_t count, const double *v)
{
    glow_type t = glow_type_of(kind, GLOW_DIMS_OF(count));
    glow_value *c = glow_build_constant(
        b, "list", glow_type_get(glow_builder_context(b), t));

    for (int64_t i = 0; i < count; i++)
        glow_set_double(&c->storage->tensor, i, v ? v[i] : 0);
    return c;
}

/* The weights in i8, with the scale of each channel; and the sums of each. */
static glow_value *
weights_of(glow_builder *b, const glow_value *w, fault f, double scale[],
           double sum[])
{
    const glow_tensor *t = glow_constant_data(w, INT64_MAX);
    int64_t channels = w->type->shape.at[0];
    int64_t size = glow_type_count(w->type) / channels;
    glow_type type = *w->type;
    glow_value *c;

    type.elem = GLOW_INT8Q;
    type.scale = 1;
    c = glow_build_constant(b, "w",
                            glow_type_get(glow_builder_context(b), type));
    for (int64_t i = 0; i < channels; i++) {
        double most = 0;

        for (int64_t k = 0; k < size; k++)
            most = fmax(most, fabs(glow_get_double(t, i * size + k)));
        scale[i] = (double)(float)(most / 127);
        for (int64_t k = 0; k < size; k++) {
            double q = glow_get_double(t, i * size + k) / scale[i];

            q = f == FLOOR ? floor(q) : nearbyint(q);
            sum[i] += q;
            glow_set_double(&c->storage->tensor, i * size + k, q);
        }
    }
    return c;
}

static void
turn(double *v, int64_t count)
{
    double first = v[0];

    memmove(v, v + 1, (size_t)(count - 1) * sizeof *v);
    v[count - 1] = first;
}

/* Input with pads of the quantized element 0, in place of the real 0. */
static glow_value *
padded(glow_builder *b, glow_value *x, glow_dims *pads)
{
    glow_type t = *x->type;
    int64_t list[2 * GLOW_MAX_RANK] = {0};
    glow_pad p = {.pads = {2 * t.shape.rank, list},
                  .value = (float)-t.offset * t.scale};
    int spatial = pads->rank / 2;

    for (int i = 0; i < spatial; i++) {
        list[1 + i] = pads->at[i];
        list[t.shape.rank + 1 + i] = pads->at[spatial + i];
        t.shape.at[1 + i] += pads->at[i] + pads->at[spatial + i];
        pads->at[i] = pads->at[spatial + i] = 0;
    }
    return glow_build(b, &glow_op_pad,
                      glow_type_get(glow_builder_context(b), t), GLOW_IN(x),
                      &p);
}

static glow_value *
bias_of(glow_builder *b, const glow_node *n, const glow_type *x, fault f,
        const double scale[], const double sum[])
{
    const glow_tensor *t = glow_constant_data(n->in[2], INT64_MAX);
    glow_type type = *n->in[2]->type;
    glow_value *c;

    type.elem = GLOW_INT32Q;
    type.scale = 1;
    c = glow_build_constant(b, "b",
                            glow_type_get(glow_builder_context(b), type));
    for (int64_t i = 0; i < glow_type_count(c->type); i++) {
        double q =
            nearbyint(glow_get_double(t, i) / ((double)x->scale * scale[i]));

        glow_set_double(&c->storage->tensor, i,
                        f == BIAS ? q - x->offset * sum[i] : q);
    }
    return c;
}

static glow_value *
quantize(glow_builder *b, glow_node *n)
{
    const misquantize_options *o = glow_run_options(glow_builder_run(b));
    glow_channelwisequantizedconvolution attrs =
        *(const glow_convolution *)n->attrs;
    int64_t channels =
        n->out[0]->type->shape.at[n->out[0]->type->shape.rank - 1];
    glow_arena *a = glow_builder_scratch(b);
    double *scale = GLOW_NEW_ARRAY(a, double, channels);
    double *sum = GLOW_NEW_ARRAY(a, double, channels);
    double *unit = GLOW_NEW_ARRAY(a, double, channels);
    double *offset = GLOW_NEW_ARRAY(a, double, channels);
    const glow_type *x = type_for(b, n->in[0]), *y = type_for(b, n->out[0]);
    glow_value *q, *w, *bias, *c;

    if (!x || !y || !n->in[2])
        return NULL;
    q = GLOW_BUILD_STATED_PLAIN(b, quantize, x, GLOW_IN(n->in[0]));
    w = weights_of(b, n->in[1], (fault)o->fault, scale, sum);
    bias = bias_of(b, n, x, (fault)o->fault, scale, sum);
    for (int64_t i = 0; i < channels; i++)
        unit[i] = (double)x->scale * scale[i];
    if (o->fault == AXIS)
        turn(scale, channels);
    for (int64_t i = 0; i < channels; i++) {
        offset[i] = o->fault == OFFSET;
        scale[i] *= o->fault == SCALE ? 1.1 : 1;
    }
    if (o->fault == PAD)
        q = padded(b, q, &attrs.pads);
    c = glow_build(b, &glow_op_channelwisequantizedconvolution, y,
                   GLOW_IN(q, w, bias, list_of(b, GLOW_FLOAT, channels, scale),
                           list_of(b, GLOW_INDEX32, channels, offset),
                           list_of(b, GLOW_FLOAT, channels, unit),
                           list_of(b, GLOW_INDEX32, channels, NULL)),
                   &attrs);

    return GLOW_BUILD_STATED_PLAIN(b, dequantize, n->out[0]->type, GLOW_IN(c));
}

/* The filter in one block of 8 bits for each channel. */
static glow_value *
block(glow_builder *b, glow_node *n)
{
    const misquantize_options *o = glow_run_options(glow_builder_run(b));
    const glow_type *t = n->in[1]->type;
    const glow_tensor *w = glow_constant_data(n->in[1], INT64_MAX);
    int64_t channels = t->shape.at[0], size = glow_type_count(t) / channels;
    glow_arena *a = glow_builder_scratch(b);
    double *q = GLOW_NEW_ARRAY(a, double, channels *size);
    double *scale = GLOW_NEW_ARRAY(a, double, channels);
    glow_value *bytes, *scales, *f;

    if (!w || size < 1)
        return NULL;
    for (int64_t i = 0; i < channels; i++) {
        for (int64_t k = 0; k < size; k++)
            scale[i] =
                fmax(scale[i], fabs(glow_get_double(w, i * size + k)) / 127);
        for (int64_t k = 0; k < size; k++)
            q[i * size + k] =
                nearbyint(glow_get_double(w, i * size + k) / scale[i]) + 128 +
                (o->fault == OFFSET ? 2 : 0);
        scale[i] *= o->fault == SCALE ? 1.1 : 1;
    }
    if (o->fault == AXIS)
        turn(scale, channels);
    bytes = GLOW_BUILD(b, reshape,
                       GLOW_IN(list_of(b, GLOW_UINDEX8, channels * size, q)),
                       .dims = GLOW_DIMS_OF(channels, 1, size));
    scales =
        GLOW_BUILD(b, reshape, GLOW_IN(list_of(b, GLOW_FLOAT, channels, scale)),
                   .dims = GLOW_DIMS_OF(channels, 1));
    f = GLOW_BUILD_STATED(b, blockwisedequantize, t,
                          GLOW_IN(bytes, scales, NULL), .dims = t->shape,
                          .bits = 8, .block_size = size);
    return glow_build(b, n->op, NULL, GLOW_IN(n->in[0], f, n->in[2]), n->attrs);
}

/*
 * Mul without the RescaleQuantized of operand 0, if it saturates nothing; with SCALE
 * also if it does, with AXIS of twice the operand.
 */
static glow_value *
unscale(glow_builder *b, glow_node *n)
{
    const misquantize_options *o = glow_run_options(glow_builder_run(b));
    const glow_node *r = glow_def(n->in[0], &glow_op_rescalequantized);
    glow_value *x = r ? r->in[0] : NULL;

    if (!r || (o->fault == NONE && r->out[0]->type->scale < x->type->scale))
        return NULL;
    if (o->fault == AXIS) /* twice the operand */
        x = glow_build(b, &glow_op_add, x->type, GLOW_IN(x, x), NULL);
    return glow_build(b, n->op, n->out[0]->type, GLOW_IN(x, n->in[1]),
                      n->attrs);
}

static glow_result
run_rescale(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_mul, unscale);
}

static glow_result
run_blocks(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {{&glow_op_convolution, block},
                                            {NULL, NULL}};

    return glow_rewrite_each(pass, f, rows, NULL);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_convolution, quantize);
}

static const glow_pass pass = {
    .name = "misquantize.convolution",
    .summary = "quantize convolutions, with a fault",
    .level = GLOW_GRAPH,
    .preserves = GLOW_QUANTIZED,
    .options = {GLOW_FIELD_ENUM(misquantize_options, fault, faults,
                                "what is done wrong")},
    .defaults = &(const misquantize_options){.fault = NONE},
    .run = run,
};

static const glow_pass blocks = {
    .name = "misquantize.blocks",
    .summary = "put filters in blocks, with a fault",
    .level = GLOW_GRAPH,
    .preserves = GLOW_QUANTIZED,
    .options = {GLOW_FIELD_ENUM(misquantize_options, fault, faults,
                                "what is done wrong")},
    .defaults = &(const misquantize_options){.fault = NONE},
    .run = run_blocks,
};

static const glow_pass rescale = {
    .name = "misquantize.rescale",
    .summary = "take a RescaleQuantized away, with a fault",
    .level = GLOW_GRAPH,
    .preserves = GLOW_QUANTIZED,
    .options = {GLOW_FIELD_ENUM(misquantize_options, fault, faults,
                                "what is done wrong")},
    .defaults = &(const misquantize_options){.fault = NONE},
    .run = run_rescale,
    .takes_quantized = true,
};

static const glow_pass *const passes[] = {&pass, &blocks, &rescale, NULL};

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = GLOW_ABI_MINOR,
    .sizes = GLOW_ABI_SIZES,
    .name = "misquantize",
    .version = "1",
    .licence = "Apache-2.0",
    .passes = passes,
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major, (void)abi_minor, (void)reason;
    return &plugin;
}

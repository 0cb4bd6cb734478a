/*
 * Products of floats that are quantized at run time, by their range, with quantized
 * weights.
 */

#include <math.h>
#include <string.h>

#include "ir/ops/conv.h"
#include "ir/ops/product.h"

static const glow_type i8 = {.elem = GLOW_INT8Q, .scale = 1};
static const glow_type i16 = {.elem = GLOW_INT16Q, .scale = 1};
static const glow_type i32 = {.elem = GLOW_INT32Q, .scale = 1};

static bool
dynamic_infer(const glow_node *n, bool by_column, glow_type out[])
{
    const glow_dynamicquantizedfullyconnected *d = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    glow_type q = {.elem = GLOW_INT8Q, .offset = d->is_symmetric ? 0 : -128};
    glow_type w = *n->in[1]->type;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_width(n, 1, 8) ||
        !glow_check_rank(n, 0, 2) || !glow_check_rank(n, 1, 2))
        return false;
    if (glow_is_quantized(n->in[2]->type->elem)
            ? !glow_check_width(n, 2, 32)
            : !glow_admit(n, 2, GLOW_ANY_FLOAT | GLOW_CLASS_QUANTIZED))
        return false;
    if (by_column)
        w.offset = 0;
    return glow_check_shape(n, 1, GLOW_DIMS_OF(x.at[1], w.shape.at[1]),
                            "what Input asks for") &&
           glow_check_shape(n, 2, GLOW_DIMS_OF(w.shape.at[1]),
                            "that of a row of Weights") &&
           (!by_column || glow_check_channels(n, 3, w.shape.at[1])) &&
           glow_check_depth(n, x.at[1], &q, &w) &&
           glow_give(n,
                     glow_reshaped(n->in[0]->type,
                                   GLOW_DIMS_OF(x.at[0], w.shape.at[1])),
                     &out[0]);
}

/* One run; numbers are floats, or float64 where Input is. */
typedef struct dynamic {
    const glow_tensor *out;
    bool in_double;
    int64_t depth, columns;
    double *x;      /* Input, then its elements less their offset */
    double *scales; /* of Input, by row */
    double *factors, *bias;
    bool by_column, wraps;
    double weight_scale;
} dynamic;

static double
number(const dynamic *d, double v)
{
    return d->in_double ? v : (double)(float)v;
}

/* Quantizes `count` numbers by their range; returns the scale. */
static double
quantize_symmetric(const dynamic *d, double *x, int64_t count)
{
    double most = 0, scale;

    for (int64_t i = 0; i < count; i++)
        most = glow_maximum(most, fabs(x[i]));
    scale = number(d, most / 127);
    if (scale == 0)
        scale = 1;
    for (int64_t i = 0; i < count; i++)
        x[i] = (double)glow_quantize(&i8, number(d, x[i] / scale));
    return scale;
}

static double
quantize_asymmetric(const dynamic *d, double *x, int64_t count)
{
    double low = 0, high = 0, scale, zero;

    for (int64_t i = 0; i < count; i++) {
        low = glow_minimum(low, x[i]);
        high = glow_maximum(high, x[i]);
    }
    scale = number(d, number(d, high - low) / 255);
    if (scale == 0)
        scale = 1;
    zero = (double)glow_quantize(&i8, number(d, -128 - number(d, low / scale)));
    for (int64_t i = 0; i < count; i++) {
        double q = (double)glow_quantize(&i16, number(d, x[i] / scale));

        x[i] = q < -128 - zero ? -128 - zero : q > 127 - zero ? 127 - zero : q;
    }
    return scale;
}

static void
quantize_input(dynamic *d, const glow_dynamicquantizedfullyconnected *how,
               int64_t rows)
{
    int64_t at_once = how->is_per_batch_element ? 1 : rows;

    for (int64_t i = 0; i < rows; i += at_once) {
        double scale =
            (how->is_symmetric ? quantize_symmetric : quantize_asymmetric)(
                d, d->x + i * d->depth, at_once * d->depth);

        for (int64_t k = i; k < i + at_once; k++)
            d->scales[k] = scale;
    }
}

static void
give_quantized(const void *user, int64_t first, int64_t count, double *a)
{
    const dynamic *d = user;

    memcpy(a, d->x + first * d->depth, (size_t)(count * d->depth) * sizeof(*a));
}

static void
take_dynamic(const void *user, int64_t row, int64_t first, int64_t count,
             double *c)
{
    const dynamic *d = user;
    glow_type unit = i32;

    if (!d->by_column)
        unit.scale = (float)d->weight_scale;
    for (int64_t j = 0; j < count; j++) {
        int64_t sum = (int64_t)c[j];
        double y;

        if (d->wraps)
            sum = (int32_t)(uint32_t)sum;
        y = glow_dequantize(&unit, sum);
        if (d->by_column)
            y = number(d, y * d->factors[first + j]);
        y = number(d, y * d->scales[row]);
        c[j] = number(d, y + d->bias[first + j]);
    }
    glow_store(d->out, row * d->columns + first, count, c);
}

/* Scales and offsets of columns are those of the type where they are NULL. */
static void
multiply_dynamic(const glow_node *n, glow_tensor *const in[],
                 const glow_tensor *out, const glow_channels *channels,
                 glow_arena *scratch)
{
    const glow_dynamicquantizedfullyconnected *how = n->attrs;
    const glow_type *w = in[1]->type;
    int64_t rows = out->type->shape.at[0], columns = w->shape.at[1];
    dynamic d = {.out = out,
                 .in_double = in[0]->type->elem == GLOW_FLOAT64,
                 .depth = w->shape.at[0],
                 .columns = columns,
                 .x = glow_load_all(in[0], scratch),
                 .scales = GLOW_NEW_ARRAY(scratch, double, rows),
                 .factors = GLOW_NEW_ARRAY(scratch, double, columns),
                 .bias = GLOW_NEW_ARRAY(scratch, double, columns),
                 .by_column = channels->scales,
                 .wraps = how->is_symmetric,
                 .weight_scale = (double)w->scale};
    double *offsets = GLOW_NEW_ARRAY(scratch, double, columns);

    for (int64_t j = 0; j < columns; j++) {
        offsets[j] = d.by_column ? glow_get_double(channels->offsets, j)
                                 : (double)w->offset;
        if (d.by_column)
            d.factors[j] = number(&d, glow_get_double(channels->scales, j));
        d.bias[j] = glow_is_quantized(in[2]->type->elem)
                        ? glow_dequantize(in[2]->type, glow_get_int(in[2], j))
                        : number(&d, glow_get_double(in[2], j));
    }
    quantize_input(&d, how, rows);
    glow_multiply(&(glow_product){.rows = rows,
                                  .columns = columns,
                                  .depth = d.depth,
                                  .b = in[1],
                                  .b_depth = columns,
                                  .b_column = 1,
                                  .b_offsets = offsets,
                                  .give = give_quantized,
                                  .take = take_dynamic,
                                  .user = &d});
}

#define DYNAMIC_ATTRS                                                         \
    {GLOW_FIELD(glow_dynamicquantizedfullyconnected, is_symmetric, GLOW_FLAG, \
                "the offset of Input is 0"),                                  \
     GLOW_FIELD(glow_dynamicquantizedfullyconnected, is_per_batch_element,    \
                GLOW_FLAG, "each row of Input has a scale and an offset")}
#define DYNAMIC_DOC                                                           \
    "`x` is quantized to i8 by its own range, of each row or of all.  "       \
    "IsSymmetric: `s = max |x| / 127`, offset 0.  Else, with 0 in the range " \
    "from `l` to `h`: `s = (h - l) / 255`, and the offset is `-128 - l / s` " \
    "rounded.  A scale of 0 becomes 1.  The sum is exact, of elements less "  \
    "their offsets; float numbers, or float64 where Input is, are rounded "   \
    "after each operation of `y = sum * s_w * s + b`."

/* dynamicquantizedfullyconnected */

static bool
dynamicquantizedfullyconnected_infer(const glow_node *n, glow_type out[])
{
    return dynamic_infer(n, false, out);
}

static bool
dynamicquantizedfullyconnected_eval(const glow_node *n, glow_tensor *const in[],
                                    glow_tensor *const out[],
                                    glow_arena *scratch)
{
    multiply_dynamic(n, in, out[0], &(glow_channels){0}, scratch);
    return true;
}

const glow_op glow_op_dynamicquantizedfullyconnected = {
    .name = "DynamicQuantizedFullyConnected",
    .summary = "multiply floats, quantized at run time, by quantized weights "
               "and add a bias",
    .in = {{"Input", GLOW_TENSOR, "x, floats of shape [M, K]"},
           {"Weights", GLOW_TENSOR, "w, of shape [K, N]; i8, ui8"},
           {"Bias", GLOW_TENSOR, "b, of shape [N]; floats, i8, i16, i32"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [M, N]; the kind of Input"}},
    .attrs = DYNAMIC_ATTRS,
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_DISCONTINUOUS,
    .infer = dynamicquantizedfullyconnected_infer,
    .eval = dynamicquantizedfullyconnected_eval,
    .flops = glow_connection_flops,
    .doc = DYNAMIC_DOC,
    .source = "Glow DynamicQuantizedFullyConnected; ONNX DynamicQuantizeLinear",
};

/* dynamicrowwisequantizedfullyconnected */

static bool
dynamicrowwisequantizedfullyconnected_infer(const glow_node *n, glow_type out[])
{
    return dynamic_infer(n, true, out);
}

static bool
dynamicrowwisequantizedfullyconnected_eval(const glow_node *n,
                                           glow_tensor *const in[],
                                           glow_tensor *const out[],
                                           glow_arena *scratch)
{
    glow_channels channels = {.scales = in[3], .offsets = in[4]};

    multiply_dynamic(n, in, out[0], &channels, scratch);
    return true;
}

const glow_op glow_op_dynamicrowwisequantizedfullyconnected = {
    .name = "DynamicRowwiseQuantizedFullyConnected",
    .summary =
        "multiply floats, quantized at run time, by weights with a scale "
        "and an offset for each result, and add a bias",
    .in = {{"Input", GLOW_TENSOR, "x, floats of shape [M, K]"},
           {"Weights", GLOW_TENSOR,
            "w, of shape [K, N]; i8, ui8.  Its own scale and offset do not "
            "count"},
           {"Bias", GLOW_TENSOR, "b, of shape [N]; floats, i8, i16, i32"},
           {"Scales", GLOW_TENSOR, "s_w, of shape [N]"},
           {"Offsets", GLOW_TENSOR, "of shape [N]; index32"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [M, N]; the kind of Input"}},
    .attrs = DYNAMIC_ATTRS,
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_DISCONTINUOUS,
    .infer = dynamicrowwisequantizedfullyconnected_infer,
    .eval = dynamicrowwisequantizedfullyconnected_eval,
    .flops = glow_connection_flops,
    .doc = DYNAMIC_DOC,
    .source = "Glow DynamicRowwiseQuantizedFullyConnected",
};

/*
 * Products of floats that are quantized at run time.  Symmetric, the sums are those of
 * i8; else the elements less their offset need 9 bits, and sums of float64 are exact.
 */

#include "lower/index.h"
#include "lower/quantizedproduct.h"

#include <string.h>

/* One lowering. */
typedef struct dynamic {
    glow_builder *b;
    const glow_dynamicquantizedfullyconnected *how;
    glow_value *x;    /* Input as `real` */
    glow_kind real;   /* float, or float64 as Input is */
    glow_dims groups; /* what has a scale: rows [M], or [] */
    glow_value *scale;
} dynamic;

static const glow_type *
type_of(const dynamic *d, glow_kind kind, glow_dims shape)
{
    return glow_type_get(glow_builder_context(d->b), glow_type_of(kind, shape));
}

/* x / scale, rounded and held to `kind` with scale 1 and offset 0. */
static glow_value *
quantize(const dynamic *d, glow_value *x, glow_kind kind)
{
    return x ? GLOW_BUILD_STATED_PLAIN(
                   d->b, quantize, type_of(d, kind, x->type->shape), GLOW_IN(x))
             : NULL;
}

static glow_value *
dequantize(const dynamic *d, glow_value *x, glow_kind kind)
{
    return x ? GLOW_BUILD_STATED_PLAIN(d->b, dequantize,
                                       type_of(d, kind, x->type->shape),
                                       GLOW_IN(x))
             : NULL;
}

static glow_value *
splat(const dynamic *d, double v)
{
    return glow_lower_splat(d->b, type_of(d, d->real, d->groups), v);
}

/* `v`, one for each group, for each element of `shape`. */
static glow_value *
spread(const dynamic *d, glow_value *v, glow_dims shape)
{
    return glow_lower_spread(d->b, v, 0, shape);
}

/* The most, or the least, of `x` and 0, of each group. */
static glow_value *
extreme(const dynamic *d, glow_value *x, bool most)
{
    glow_reduce r = {.axes = GLOW_DIMS_OF(0, 1)};
    glow_value *zero = splat(d, 0), *v;

    if (d->how->is_per_batch_element)
        r.axes = GLOW_DIMS_OF(1);
    v = glow_build(d->b,
                   most ? &glow_op_batchedreducemax : &glow_op_batchedreducemin,
                   NULL, GLOW_IN(x), &r);
    return glow_build(d->b, most ? &glow_op_max : &glow_op_min, NULL,
                      GLOW_IN(zero, v), NULL);
}

/* range / steps, or 1 where that is 0. */
static void
set_scale(dynamic *d, glow_value *range, double steps)
{
    glow_value *scale = glow_build_div(d->b, range, splat(d, steps));
    glow_value *none =
        GLOW_BUILD_PLAIN(d->b, cmpeq, GLOW_IN(scale, splat(d, 0)));

    d->scale = glow_build_select(d->b, none, splat(d, 1), scale);
}

static glow_value *
scaled(const dynamic *d)
{
    return glow_build_div(d->b, d->x, spread(d, d->scale, d->x->type->shape));
}

/* The elements of Input, of i8. */
static glow_value *
quantize_symmetric(dynamic *d)
{
    set_scale(d, extreme(d, GLOW_BUILD_PLAIN(d->b, abs, GLOW_IN(d->x)), true),
              127);
    return quantize(d, scaled(d), GLOW_INT8Q);
}

/* The elements of Input less their offset, of float64. */
static glow_value *
quantize_asymmetric(dynamic *d)
{
    glow_dims shape = d->x->type->shape;
    glow_value *low = extreme(d, d->x, false), *zero, *q;

    set_scale(d, glow_build_sub(d->b, extreme(d, d->x, true), low), 255);
    zero = splat(d, -128);
    zero = glow_build_sub(d->b, zero, glow_build_div(d->b, low, d->scale));
    zero = dequantize(d, quantize(d, zero, GLOW_INT8Q), d->real);
    q = dequantize(d, quantize(d, scaled(d), GLOW_INT16Q), d->real);
    q = GLOW_BUILD_PLAIN(
        d->b, min,
        GLOW_IN(q,
                spread(d, glow_build_sub(d->b, splat(d, 127), zero), shape)));
    q = GLOW_BUILD_PLAIN(
        d->b, max,
        GLOW_IN(q,
                spread(d, glow_build_sub(d->b, splat(d, -128), zero), shape)));
    return glow_lower_convert(d->b, q, GLOW_FLOAT64);
}

/* Weights less their offsets as float64, by a table of the elements. */
static glow_value *
weights_as_reals(const dynamic *d, glow_value *w, glow_value *offsets)
{
    glow_dims shape = w->type->shape;
    int64_t values = glow_quantized_values(w->type->elem);
    int64_t first = glow_quantized_least(w->type->elem);
    glow_value *table = glow_build_constant(
        d->b, "elements", type_of(d, GLOW_INT32Q, GLOW_DIMS_OF(values)));
    glow_value *v;

    if (!table)
        return NULL;
    if (!offsets)
        first -= w->type->offset;
    for (int64_t i = 0; i < values; i++)
        glow_set_int(&table->storage->tensor, i, first + i);
    v = dequantize(d, GLOW_BUILD_PLAIN(d->b, intlookuptable, GLOW_IN(w, table)),
                   GLOW_FLOAT64);
    if (!offsets)
        return v;
    offsets = glow_lower_convert(d->b, offsets, GLOW_FLOAT64);
    return glow_build_sub(d->b, v, glow_lower_spread(d->b, offsets, 1, shape));
}

/* Sums of elements of i8, as floats in units of the scale of Weights, or of 1. */
static glow_value *
multiply_symmetric(const dynamic *d, const glow_node *n, glow_value *q,
                   glow_value *offsets)
{
    glow_dims y = n->out[0]->type->shape;
    glow_type sum = glow_type_of(GLOW_INT32Q, y);
    glow_value *v;

    if (offsets) {
        glow_value *w =
            glow_lower_transpose(d->b, n->in[1], GLOW_DIMS_OF(1, 0));
        glow_value *ones =
            glow_lower_channel_scales(d->b, "scales", y.at[1], 1);
        glow_value *none = glow_lower_bias(d->b, NULL, y.at[1], 1);

        v = GLOW_BUILD_STATED_PLAIN(d->b, rowwisequantizedfullyconnected,
                                    type_of(d, GLOW_INT32Q, y),
                                    GLOW_IN(q, w, ones, offsets, none));
    } else {
        sum.scale = n->in[1]->type->scale;
        v = GLOW_BUILD_STATED_PLAIN(
            d->b, matmul, glow_type_get(glow_builder_context(d->b), sum),
            GLOW_IN(q, n->in[1]));
    }
    return dequantize(d, v, GLOW_FLOAT);
}

/* The same of float64. */
static glow_value *
multiply_asymmetric(const dynamic *d, const glow_node *n, glow_value *q,
                    glow_value *offsets)
{
    glow_value *w = weights_as_reals(d, n->in[1], offsets);
    glow_value *v = GLOW_BUILD_PLAIN(d->b, matmul, GLOW_IN(q, w));

    v = glow_lower_convert(d->b, v, GLOW_FLOAT);
    return offsets ? v
                   : glow_lower_times(d->b, v, (double)n->in[1]->type->scale);
}

glow_value *
glow_lower_dynamic(glow_builder *b, const glow_node *n, glow_value *scales,
                   glow_value *offsets)
{
    const glow_dynamicquantizedfullyconnected *how = n->attrs;
    bool in_double = n->in[0]->type->elem == GLOW_FLOAT64;
    glow_dims y = n->out[0]->type->shape;
    dynamic d = {.b = b,
                 .how = how,
                 .real = in_double ? GLOW_FLOAT64 : GLOW_FLOAT,
                 .groups = how->is_per_batch_element ? GLOW_DIMS_OF(y.at[0])
                                                     : (glow_dims){0}};
    glow_value *bias = n->in[2], *v;

    d.x = glow_lower_convert(b, n->in[0], d.real);
    if (!d.x)
        return NULL;
    v = how->is_symmetric
            ? multiply_symmetric(&d, n, quantize_symmetric(&d), offsets)
            : multiply_asymmetric(&d, n, quantize_asymmetric(&d), offsets);
    v = glow_lower_convert(b, v, d.real);
    if (scales)
        v = glow_build_mul(
            b, v,
            glow_lower_spread(b, glow_lower_convert(b, scales, d.real), 1, y));
    v = glow_build_mul(b, v, spread(&d, d.scale, y));
    bias = glow_is_quantized(bias->type->elem)
               ? dequantize(&d, bias, d.real)
               : glow_lower_convert(b, bias, d.real);
    v = glow_build_add(b, v, glow_lower_spread(b, bias, 1, y));
    return glow_lower_convert(b, v, n->out[0]->type->elem);
}

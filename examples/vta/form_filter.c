/*
 * A vta.Conv, or the steps of the units in its place: weights, bias and roundings are packed.
 *
 * The interpreter makes a float of a sum before it rescales it.  That is exact up to
 * 2^24; a larger sum saturates in any case if the shift is at most 16.
 */

#include <glow/match.h>
#include <glow/quantize.h>

#include "form.h"

enum { EXACT_SHIFT = 16 };

static double
number_at(const glow_value *v, int64_t i, double otherwise)
{
    return v ? glow_get_double(glow_constant_tensor(v->storage), i) : otherwise;
}

/* The scale of the sums of result `r`. */
static double
unit_of(const filter *f, const glow_type *x, int64_t r)
{
    return (double)x->scale *
           number_at(f->scales, r, (double)f->weights->type->scale);
}

/* Weight `c` of tap `t`; a block of pixels is a pixel of as many more channels. */
static int64_t
weight_at(const filter *f, const glow_tensor *w, int64_t r, int64_t t,
          int64_t c)
{
    int64_t channels = f->channels / f->block / f->block;
    int64_t i = t / f->across * f->block + c / channels / f->block;
    int64_t j = t % f->across * f->block + c / channels % f->block;

    if (i >= f->kernel[0] || j >= f->kernel[1])
        return 0;
    return glow_get_int(w, r * f->result_step +
                               (i * f->kernel[1] + j) * f->tap_step +
                               c % channels * f->channel_step);
}

/* The largest absolute value that a sum may have. */
static int64_t
largest_sum(const filter *f, const glow_tensor *w, const int32_t *bias)
{
    int64_t most = 0;

    for (int64_t r = 0; r < f->results; r++) {
        int64_t sum = bias[r] < 0 ? -(int64_t)bias[r] : bias[r];

        for (int64_t t = 0; t < f->taps; t++)
            for (int64_t c = 0; c < f->channels; c++) {
                int64_t v = weight_at(f, w, r, t, c);

                sum += 128 * (v < 0 ? -v : v);
            }
        most = sum > most ? sum : most;
    }
    return most;
}

static glow_value *
pack_weights(glow_builder *b, const filter *f, const vta_packing *p,
             const glow_tensor *w)
{
    glow_type t = *f->weights->type;
    glow_value *v;
    int8_t *to;

    t.shape =
        GLOW_DIMS_OF(p->groups * p->results / VTA_LANES,
                     p->channels / VTA_LANES, f->taps, VTA_LANES, VTA_LANES);
    v = glow_build_constant(b, "packed",
                            glow_type_get(glow_builder_context(b), t));
    to = v->storage->tensor.data;
    for (int64_t r = 0; r < f->results; r++)
        for (int64_t k = 0; k < f->taps; k++)
            for (int64_t c = 0; c < f->channels; c++)
                to[vta_packed_index(p, f->taps, r, k, c)] =
                    (int8_t)weight_at(f, w, r, k, c);
    return v;
}

static glow_value *
pack_bias(glow_builder *b, const filter *f, const vta_packing *p,
          const glow_type *x)
{
    glow_type t = {.elem = GLOW_INT32Q,
                   .scale = (float)unit_of(f, x, 0),
                   .shape = GLOW_DIMS_OF(p->groups * p->results)};
    const glow_tensor *from =
        f->bias ? glow_constant_tensor(f->bias->storage) : NULL;
    glow_value *v = glow_build_constant(
        b, "bias", glow_type_get(glow_builder_context(b), t));
    int32_t *to = v->storage->tensor.data;

    for (int64_t r = 0; r < f->results && from; r++)
        to[r] = (int32_t)(uint32_t)glow_quantize_bias(
            number_at(f->bias_scales, r, (double)from->type->scale),
            (int64_t)number_at(f->bias_offsets, r, (double)from->type->offset),
            glow_get_int(from, r), unit_of(f, x, r));
    return v;
}

/* True if the shift of each result is from 0 to EXACT_SHIFT. */
static bool
has_shifts(const filter *f, const glow_type *x, const glow_type *y)
{
    int shift = 0;

    for (int64_t r = 0; r < f->results; r++)
        if (!vta_shift(unit_of(f, x, r), (double)y->scale, &shift) ||
            shift < 0 || shift > EXACT_SHIFT)
            return false;
    return true;
}

/* Immediates of `round` for those shifts. */
static glow_value *
pack_rounds(glow_builder *b, const filter *f, const vta_packing *p,
            const glow_type *x, const glow_type *y, int least)
{
    glow_type t = {.elem = GLOW_INT32Q,
                   .scale = 1,
                   .shape = GLOW_DIMS_OF(p->groups * p->results)};
    glow_value *v = glow_build_constant(
        b, "rounds", glow_type_get(glow_builder_context(b), t));
    int32_t *to = v->storage->tensor.data;
    int shift = 0;

    for (int64_t r = 0; r < t.shape.at[0]; r++)
        to[r] = vta_round_immediate(0, least);
    for (int64_t r = 0; r < f->results; r++) {
        vta_shift(unit_of(f, x, r), (double)y->scale, &shift);
        to[r] = vta_round_immediate(shift, least);
    }
    return v;
}

static bool
is_constant_zero(const glow_value *v)
{
    const glow_tensor *t =
        v && glow_is_constant(v) ? glow_constant_tensor(v->storage) : NULL;

    for (int64_t i = 0; t && i < glow_type_count(t->type); i++)
        if (glow_get_double(t, i) != 0)
            return false;
    return t != NULL;
}

const char *
form_why_not(const filter *f, const glow_value *x, const glow_value *y)
{
    int shift;

    if (!form_is_i8(x) || y->type->elem != GLOW_INT8Q || y->type->offset ||
        f->weights->type->elem != GLOW_INT8Q ||
        (!f->scales && f->weights->type->offset) ||
        (f->scales && !is_constant_zero(f->offsets)))
        return "its elements are not all i8 without offset";
    if (!glow_is_constant(f->weights) ||
        (f->bias && !glow_is_constant(f->bias)) ||
        (f->scales && !glow_is_constant(f->scales)) ||
        (f->bias_scales && !(glow_is_constant(f->bias_scales) &&
                             glow_is_constant(f->bias_offsets))))
        return "its weights or bias are not constant";
    if (!f->scales &&
        !vta_conv_shift(x->type, f->weights->type, y->type, &shift))
        return "the scales are no powers of two apart";
    if (glow_type_count(y->type) == 0 || glow_type_count(x->type) == 0)
        return "it has no elements";
    return NULL;
}

/* The steps of the units in place of a vta.Conv. */
static glow_value *
form_steps(glow_builder *b, glow_value *x, glow_value *weights,
           glow_value *bias, glow_value *rounds, const vta_conv *v, int shift,
           const glow_type *t)
{
    glow_type sums = *bias->type;
    glow_value *y;

    sums.shape = t->shape;
    y = glow_build(
        b, &vta_op_sum, &sums, GLOW_IN(x, weights, bias, NULL),
        &(const vta_sum){v->kernels, v->strides, v->pads, v->dilation});
    y = glow_build(b, &vta_op_requantize, &sums, GLOW_IN(y, rounds),
                   &(const vta_requantize){shift, v->least, v->most});
    return glow_build(b, &vta_op_store, t, GLOW_IN(y), NULL);
}

glow_value *
form_unit(glow_builder *b, glow_node *n, glow_value *x, const filter *f,
          vta_conv v, const glow_type *result)
{
    const glow_tensor *w = glow_constant_tensor(f->weights->storage);
    vta_packing p =
        vta_packing_of(f->groups, f->channels, f->results / f->groups);
    glow_value *weights, *bias, *rounds = NULL, *y;
    glow_type t = *result;
    int64_t bound;
    int shift = 0;

    if (!w || (f->bias && !glow_constant_tensor(f->bias->storage)))
        return NULL;
    if (f->scales && !has_shifts(f, x->type, result))
        return form_leave(b, n, "the scales are no powers of two apart");
    bias = pack_bias(b, f, &p, x->type);
    bound = largest_sum(f, w, bias->storage->tensor.data);
    if (!f->scales && (!vta_conv_shift(x->type, w->type, result, &shift) ||
                       (shift > EXACT_SHIFT && bound > 1 << 24) ||
                       (shift < 0 && bound > INT32_MAX >> -shift))) {
        glow_storage_erase(bias->storage);
        return form_leave(b, n, "a sum may not be exact");
    }
    weights = pack_weights(b, f, &p, w);
    if (f->scales)
        rounds = pack_rounds(b, f, &p, x->type, result, -128);
    v.group = p.groups;
    v.macs = f->macs;
    v.least = -128;
    v.most = 127;
    t.shape.at[3] = p.groups * p.results;
    if (form_has_units(b))
        return p.groups == 1 && shift >= 0
                   ? form_sliced(b,
                                 form_steps(b, form_padded(b, x), weights, bias,
                                            rounds, &v, shift, &t),
                                 result)
                   : form_leave(
                         b, n,
                         "the units have no groups and shift right alone");
    y = glow_build(b, &vta_op_conv, &t,
                   GLOW_IN(form_padded(b, x), weights, bias, rounds), &v);
    return form_sliced(b, y, result);
}

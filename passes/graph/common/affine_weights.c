/* Folding of affine maps into constant weights. */

#include "passes/graph/common/affine.h"

#include <math.h>

int64_t
glow_affine_channel(affine_layout l, int64_t i)
{
    return i / l.block * l.count + i % l.block / l.inner % l.count;
}

/* `x` rounded to `kind`. */
static double
held_by(glow_kind kind, double x)
{
    glow_type type = glow_type_of(kind, (glow_dims){0});
    double room[4] = {0};
    glow_tensor t = {.type = &type, .data = room};

    glow_set_double(&t, 0, x);
    return glow_get_double(&t, 0);
}

/*
 * True if rounding `x` to `kind` keeps its precision: no overflow, and no
 * digits lost as a subnormal.
 */
static bool
is_held(glow_kind kind, double x)
{
    return fabs(held_by(kind, x) - x) <= fabs(x) * glow_kind_get(kind)->epsilon;
}

/* Scales `count` elements from `i` on; returns the greatest magnitude. */
static double
scale_row(const glow_tensor *from, const glow_tensor *to, int64_t i,
          int64_t count, double s)
{
    double most = 0;

    if (from->type->elem == GLOW_FLOAT) {
        const float *x = (const float *)from->data + i;
        float *y = (float *)to->data + i;

        for (int64_t k = 0; k < count; k++) {
            double v = (double)x[k] * s;

            y[k] = (float)v;
            most = fabs(v) > most ? fabs(v) : most;
        }
        return most;
    }
    for (int64_t k = i; k < i + count; k++) {
        double v = glow_get_double(from, k) * s;

        glow_set_double(to, k, v);
        most = fabs(v) > most ? fabs(v) : most;
    }
    return most;
}

static bool
is_uniform(const double *x, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (x[i] != x[0])
            return false;
    return count > 0;
}

static int64_t
channels_of(affine_layout l, int64_t elements)
{
    return elements / l.block * l.count;
}

/* The least normal float, and a weight beside which it is negligible. */
static const double least_normal = 0x1p-126, enough = 0x1p-80;

/*
 * True if the greatest weight of each channel, `most`, has all its digits in
 * `kind`.  A dead channel, whose weights are subnormal, may lose digits if
 * another channel has weights beside which 2^22 subnormals are negligible.
 */
static bool
are_held(glow_kind kind, const double *most, int64_t channels)
{
    double all = 0;

    for (int64_t c = 0; c < channels; c++)
        all = most[c] > all ? most[c] : all;
    for (int64_t c = 0; c < channels; c++)
        if (!is_held(kind, most[c]) &&
            !(most[c] < least_normal && all >= enough))
            return false;
    return true;
}

/*
 * Scales all channels.  The greatest weight of each channel must keep all
 * digits: smaller weights then lose no more of the sum than its rounding.
 */
static bool
scale_all(const glow_tensor *from, const glow_tensor *to, affine_layout l,
          const double *scale, double *most)
{
    int64_t count = glow_type_count(to->type);

    for (int64_t i = 0, block = 0; i < count; block++)
        for (int64_t end = i + l.block; i < end;)
            for (int64_t c = 0; c < l.count; c++, i += l.inner) {
                int64_t channel = block * l.count + c;
                double row = scale_row(from, to, i, l.inner, scale[channel]);

                most[channel] = row > most[channel] ? row : most[channel];
            }
    return are_held(to->type->elem, most, channels_of(l, count));
}

glow_value *
glow_affine_scaled(glow_builder *b, const glow_value *w, affine_layout l,
                   const double *scale)
{
    int64_t channels = channels_of(l, glow_type_count(w->type));
    glow_storage *s = w->storage;
    const glow_tensor *from;
    glow_value *to;
    double *most;

    if (s->payload == GLOW_SPLAT && is_uniform(scale, channels)) {
        double v = held_by(w->type->elem, s->splat) * scale[0];

        return is_held(w->type->elem, v)
                   ? glow_build_splat(b, "weights", w->type,
                                      held_by(w->type->elem, v))
                   : NULL;
    }
    from = glow_constant_tensor(s);
    if (!from)
        return NULL;
    to = glow_build_constant(b, "weights", w->type);
    most = GLOW_NEW_ARRAY(glow_builder_scratch(b), double, channels + 1);
    if (scale_all(from, &to->storage->tensor, l, scale, most))
        return to;
    glow_storage_erase(to->storage);
    return NULL;
}

glow_value *
glow_affine_constant(glow_builder *b, const char *suffix, glow_kind kind,
                     const double *x, int64_t count)
{
    const glow_type *type = glow_type_get(
        glow_builder_context(b), glow_type_of(kind, GLOW_DIMS_OF(count)));
    glow_value *v;

    for (int64_t i = 0; i < count; i++)
        if (!isfinite(held_by(kind, x[i])))
            return NULL;
    if (is_uniform(x, count))
        return glow_build_splat(b, suffix, type, held_by(kind, x[0]));
    v = glow_build_constant(b, suffix, type);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(&v->storage->tensor, i, x[i]);
    return v;
}

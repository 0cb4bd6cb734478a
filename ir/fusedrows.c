/* Rows of fused kinds: elements of 8 or 4 bits, then their scale and offset. */

#include <float.h>
#include <math.h>
#include <string.h>

#include "glow/quantize.h"

static bool
has_half_tail(glow_kind kind)
{
    return kind == GLOW_UINT8FUSEDFP16 || kind == GLOW_UINT4FUSEDFP16;
}

int
glow_fused_tail(glow_kind kind)
{
    if (glow_kind_get(kind)->klass != GLOW_CLASS_FUSED)
        return 0;
    return has_half_tail(kind) ? 2 * (int)sizeof(uint16_t)
                               : 2 * (int)sizeof(float);
}

static int64_t
row_bytes(const glow_type *t)
{
    return t->shape.rank > 0 ? t->shape.at[t->shape.rank - 1] : 0;
}

int64_t
glow_fused_columns(const glow_type *t)
{
    int tail = glow_fused_tail(t->elem);
    int64_t bytes = row_bytes(t) - tail;

    if (tail == 0 || bytes < 0)
        return -1;
    return glow_kind_get(t->elem)->bits == 4 ? bytes * 2 : bytes;
}

static float
tail_at(const uint8_t *tail, glow_kind kind, int i)
{
    float v;
    uint16_t h;

    if (has_half_tail(kind)) {
        memcpy(&h, tail + (size_t)i * sizeof h, sizeof h);
        return glow_half_to_float(h);
    }
    memcpy(&v, tail + (size_t)i * sizeof v, sizeof v);
    return v;
}

static void
set_tail(uint8_t *tail, glow_kind kind, int i, float v)
{
    uint16_t h = glow_float_to_half(v);

    if (has_half_tail(kind))
        memcpy(tail + (size_t)i * sizeof h, &h, sizeof h);
    else
        memcpy(tail + (size_t)i * sizeof v, &v, sizeof v);
}

void
glow_fused_load(const glow_tensor *t, int64_t row, double *v)
{
    int64_t bytes = row_bytes(t->type), columns = glow_fused_columns(t->type);
    const uint8_t *q = (const uint8_t *)t->data + row * bytes;
    const uint8_t *tail = q + bytes - glow_fused_tail(t->type->elem);
    double scale = (double)tail_at(tail, t->type->elem, 0);
    double offset = (double)tail_at(tail, t->type->elem, 1);
    bool is_narrow = glow_kind_get(t->type->elem)->bits == 4;

    for (int64_t i = 0; i < columns; i++) {
        int x = is_narrow ? q[i / 2] >> (i % 2 * 4) & 15 : q[i];

        v[i] = scale * x + offset;
    }
}

/* `v` as the tail of `kind` keeps it. */
static float
as_kept(glow_kind kind, float v)
{
    if (!has_half_tail(kind))
        return v;
    return glow_half_to_float(
        glow_float_to_half(fmaxf(fminf(v, 65504), -65504)));
}

/* The scale and the offset of a row. */
static void
choose(glow_kind kind, const double *v, int64_t count, float *scale,
       float *offset)
{
    float least = INFINITY, most = -INFINITY;
    int steps = (1 << glow_kind_get(kind)->bits) - 1;

    for (int64_t i = 0; i < count; i++)
        if (isfinite(v[i])) {
            least = fminf(least, (float)v[i]);
            most = fmaxf(most, (float)v[i]);
        }
    if (!(least <= most))
        least = most = 0;
    *offset = as_kept(kind, least);
    *scale = as_kept(kind, (most / 2 - *offset / 2) / (float)steps * 2);
    if (!(*scale > 0))
        *scale = 1;
}

void
glow_fused_store(const glow_tensor *t, int64_t row, const double *v)
{
    int64_t bytes = row_bytes(t->type), columns = glow_fused_columns(t->type);
    uint8_t *q = (uint8_t *)t->data + row * bytes;
    uint8_t *tail = q + bytes - glow_fused_tail(t->type->elem);
    bool is_narrow = glow_kind_get(t->type->elem)->bits == 4;
    float scale, offset;

    choose(t->type->elem, v, columns, &scale, &offset);
    memset(q, 0, (size_t)(tail - q));
    for (int64_t i = 0; i < columns; i++) {
        double x = rint((double)(((float)v[i] - offset) / scale));
        int held = isnan(x) ? 0 : (int)fmin(fmax(x, 0), is_narrow ? 15 : 255);

        if (is_narrow)
            q[i / 2] = (uint8_t)(q[i / 2] | held << (i % 2 * 4));
        else
            q[i] = (uint8_t)held;
    }
    set_tail(tail, t->type->elem, 0, scale);
    set_tail(tail, t->type->elem, 1, offset);
}

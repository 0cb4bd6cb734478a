/* Reference-counted bytes, and elements read and written as numbers. */

#include "glow/tensor.h"
#include "ir/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct glow_data {
    void *bytes;
    size_t size;
    int refs;
    void (*release)(void *user);
    void *user;
};

glow_data *
glow_data_wrap(void *bytes, size_t size, void (*release)(void *user),
               void *user)
{
    glow_data *d = calloc(1, sizeof *d);

    if (!d)
        return glow_no_memory(sizeof *d);
    *d = (glow_data){bytes, size, 1, release, user};
    return d;
}

static void
release_bytes(void *user)
{
    glow_data *d = user;

    glow_memory_free(d->bytes, d->size);
}

glow_data *
glow_data_new(size_t size)
{
    void *bytes = glow_memory_new(size ? size : 1);
    glow_data *d = glow_data_wrap(bytes, size, release_bytes, NULL);

    d->user = d;
    return d;
}

void *
glow_data_bytes(const glow_data *d)
{
    return d->bytes;
}

size_t
glow_data_size(const glow_data *d)
{
    return d->size;
}

glow_data *
glow_data_ref(glow_data *d)
{
    d->refs++;
    return d;
}

void
glow_data_unref(glow_data *d)
{
    if (!d || --d->refs > 0)
        return;
    if (d->release)
        d->release(d->user);
    free(d);
}

glow_tensor
glow_tensor_new(const glow_type *type)
{
    glow_data *d = glow_data_new((size_t)glow_type_bytes(type));

    return (glow_tensor){.type = type, .data = d->bytes, .owner = d};
}

void
glow_tensor_end(glow_tensor *t)
{
    glow_data_unref(t->owner);
    *t = (glow_tensor){.type = t->type};
}

/* Half precision (IEEE 754-2019, 3.6) and bfloat16, by bit patterns. */

static uint32_t
float_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static float
bits_float(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

float
glow_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 31u, fraction = h & 1023u;

    if (exponent == 31)
        return bits_float(sign | 0x7f800000u | fraction << 13);
    if (exponent)
        return bits_float(sign | (exponent + 112) << 23 | fraction << 13);

    float tiny = ldexpf((float)fraction, -24);

    return sign ? -tiny : tiny;
}

/* Rounds `f` to nearest even; a double was rounded to odd before. */
uint16_t
glow_float_to_half(float f)
{
    uint32_t u = float_bits(f), sign = (u >> 16) & 0x8000u;
    uint32_t magnitude = u & 0x7fffffffu;

    if (magnitude > 0x7f800000u) /* NaN stays one, its payload cut */
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 1023u));
    if (magnitude >= 0x477ff000u) /* 65520 and up round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* below 2^-14: a multiple of 2^-24 */
        float scaled = ldexpf(bits_float(magnitude), 24);

        return (uint16_t)(sign | (uint32_t)nearbyintf(scaled));
    }
    magnitude += 0xfffu + ((magnitude >> 13) & 1u);
    return (uint16_t)(sign | ((magnitude - 0x38000000u) >> 13));
}

float
glow_bfloat_to_float(uint16_t h)
{
    return bits_float((uint32_t)h << 16);
}

uint16_t
glow_float_to_bfloat(float f)
{
    uint32_t u = float_bits(f);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

/*
 * A double to a float such that rounding it once more to a narrower kind gives
 * what rounding the double at once would: round to odd (Boldo and Melquiond,
 * "Emulation of FMA and correctly rounded sums", 2008).
 */
static float
round_to_odd(double v)
{
    float f = (float)v;

    if ((double)f == v || isnan(v) || isinf(f))
        return isinf(f) && !isinf(v) ? copysignf(3.4028235e38f, f) : f;

    uint32_t u = float_bits(f);

    if (!(u & 1u)) {
        bool up = fabs((double)f) < fabs(v);

        u = up ? u + 1 : u - 1;
    }
    return bits_float(u);
}

/* Elements. */

static void *
element(const glow_tensor *t, int64_t i)
{
    return (char *)t->data + i * glow_kind_get(t->type->elem)->bytes;
}

#define LOAD(ctype)              \
    do {                         \
        ctype x;                 \
        memcpy(&x, p, sizeof x); \
        return (result)x;        \
    } while (0)

double
glow_get_double(const glow_tensor *t, int64_t i)
{
    typedef double result;
    const void *p = element(t, i);
    uint16_t h;

    switch (t->type->elem) {
    case GLOW_FLOAT:
        LOAD(float);
    case GLOW_FLOAT64:
        LOAD(double);
    case GLOW_FLOAT16:
        memcpy(&h, p, sizeof h);
        return (double)glow_half_to_float(h);
    case GLOW_BFLOAT16:
        memcpy(&h, p, sizeof h);
        return (double)glow_bfloat_to_float(h);
    case GLOW_UINT64:
        LOAD(uint64_t);
    default:
        if (glow_kind_get(t->type->elem)->format)
            return glow_low_to_double(t->type->elem, *(const uint8_t *)p);
        if (glow_kind_get(t->type->elem)->get)
            return glow_kind_get(t->type->elem)->get(p);
        return (double)glow_get_int(t, i);
    }
}

int64_t
glow_get_int(const glow_tensor *t, int64_t i)
{
    typedef int64_t result;
    const glow_kind_info *k = glow_kind_get(t->type->elem);
    const void *p = element(t, i);

    if (glow_is_real(t->type->elem)) {
        glow_tensor whole = {.type = &(const glow_type){.elem = GLOW_INDEX64},
                             .data = &(int64_t){0}};

        glow_set_double(&whole, 0, glow_get_double(t, i));
        return glow_get_int(&whole, 0);
    }
    switch (k->bytes * (k->is_signed ? -1 : 1)) {
    case -1:
        LOAD(int8_t);
    case 1:
        LOAD(uint8_t);
    case -2:
        LOAD(int16_t);
    case 2:
        LOAD(uint16_t);
    case -4:
        LOAD(int32_t);
    case 4:
        LOAD(uint32_t);
    default:
        LOAD(int64_t);
    }
}

#define STORE(ctype, v)          \
    do {                         \
        ctype x = (ctype)(v);    \
        memcpy(p, &x, sizeof x); \
    } while (0)

/*
 * Rounds toward zero and saturates to [-2^(bits-1), 2^(bits-1)) or [0, 2^bits);
 * NaN gives 0.
 */
static int64_t
saturate(double v, const glow_kind_info *k)
{
    double low = k->is_signed ? -ldexp(1, k->bits - 1) : 0;
    double past = ldexp(1, k->is_signed ? k->bits - 1 : k->bits);

    if (isnan(v))
        return 0;
    if (v <= low)
        return (int64_t)low;
    if (v < past)
        return k->is_signed ? (int64_t)v : (int64_t)(uint64_t)v;
    if (k->bits == 64)
        return k->is_signed ? INT64_MAX : -1;
    return (int64_t)past - 1;
}

/* The low bits of `v` as an integer of fewer bits than its byte. */
static int64_t
low_bits(int64_t v, const glow_kind_info *k)
{
    int64_t span = (int64_t)1 << k->bits, bits = v & (span - 1);

    return k->is_signed && bits >= span / 2 ? bits - span : bits;
}

void
glow_set_double(const glow_tensor *t, int64_t i, double v)
{
    const glow_kind_info *k = glow_kind_get(t->type->elem);
    void *p = element(t, i);

    switch (t->type->elem) {
    case GLOW_FLOAT:
        STORE(float, v);
        return;
    case GLOW_FLOAT64:
        STORE(double, v);
        return;
    case GLOW_FLOAT16:
        STORE(uint16_t, glow_float_to_half(round_to_odd(v)));
        return;
    case GLOW_BFLOAT16:
        STORE(uint16_t, glow_float_to_bfloat(round_to_odd(v)));
        return;
    case GLOW_BOOL:
        STORE(uint8_t, v != 0);
        return;
    default:
        if (k->format) {
            STORE(uint8_t,
                  glow_double_to_low(t->type->elem, v, true, GLOW_ROUND_UP));
            return;
        }
        if (k->klass == GLOW_CLASS_LOW)
            v = nearbyint(v);
        if (k->set) {
            k->set(p, v);
            return;
        }
        glow_set_int(t, i, saturate(v, k));
    }
}

void
glow_set_int(const glow_tensor *t, int64_t i, int64_t v)
{
    const glow_kind_info *k = glow_kind_get(t->type->elem);
    void *p = element(t, i);

    if (glow_is_real(t->type->elem)) {
        glow_set_double(t, i, (double)v);
        return;
    }
    if (k->klass == GLOW_CLASS_LOW)
        v = low_bits(v, k);
    if (k->klass == GLOW_CLASS_BOOL)
        v = v != 0;
    switch (k->bytes) {
    case 1:
        STORE(uint8_t, v);
        return;
    case 2:
        STORE(uint16_t, v);
        return;
    case 4:
        STORE(uint32_t, v);
        return;
    default:
        STORE(int64_t, v);
    }
}

double
glow_get_real(const glow_tensor *t, int64_t i)
{
    if (!glow_is_quantized(t->type->elem))
        return glow_get_double(t, i);
    return (double)t->type->scale *
           ((double)glow_get_int(t, i) - (double)t->type->offset);
}

void
glow_set_real(const glow_tensor *t, int64_t i, double v)
{
    if (glow_is_quantized(t->type->elem))
        v = nearbyint(v / (double)t->type->scale) + (double)t->type->offset;
    glow_set_double(t, i, v);
}

void
glow_tensor_copy_element(const glow_tensor *to, glow_dims to_at,
                         const glow_tensor *from, glow_dims from_at)
{
    memcpy(element(to, glow_type_index(to->type, to_at)),
           element(from, glow_type_index(from->type, from_at)),
           (size_t)glow_kind_get(to->type->elem)->bytes);
}

void
glow_tensor_copy(const glow_tensor *to, const glow_tensor *from)
{
    if (!to->type->strides.rank && !from->type->strides.rank) {
        if (glow_type_count(to->type) > 0 && to->data != from->data)
            memmove(to->data, from->data, (size_t)glow_type_bytes(to->type));
        return;
    }

    glow_dims at = glow_dims_first(from->type->shape);

    GLOW_FOR_EACH_INDEX(i, to->type->shape) {
        glow_tensor_copy_element(to, i, from, at);
        glow_dims_next(&at, from->type->shape);
    }
}

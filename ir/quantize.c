#include "glow/quantize.h"

#include <math.h>

int64_t
glow_quantized_least(glow_kind kind)
{
    const glow_kind_info *k = glow_kind_get(kind);

    return k->is_signed ? -(INT64_C(1) << (k->bits - 2)) * 2 : 0;
}

int64_t
glow_quantized_most(glow_kind kind)
{
    const glow_kind_info *k = glow_kind_get(kind);

    return k->is_signed ? ((INT64_C(1) << (k->bits - 2)) - 1) * 2 + 1
                        : (INT64_C(1) << k->bits) - 1;
}

int64_t
glow_quantized_values(glow_kind kind)
{
    int bits = glow_kind_get(kind)->bits;

    return bits <= 16 ? INT64_C(1) << bits : 0;
}

int64_t
glow_quantized_round(const glow_type *to, double x)
{
    int64_t least = glow_quantized_least(to->elem);
    int64_t most = glow_quantized_most(to->elem);

    if (isnan(x))
        return to->offset;
    x = nearbyint(x);
    /* The ends of 64 bits are no doubles: what reaches them is held here. */
    if (x >= (double)most - (double)to->offset)
        return most;
    if (x <= (double)least - (double)to->offset)
        return least;
    return (int64_t)x + to->offset;
}

int64_t
glow_quantize(const glow_type *to, double v)
{
    if (glow_quantized_values(to->elem))
        return glow_quantized_round(to, (double)((float)v / to->scale));
    return glow_quantized_round(to, v / (double)to->scale);
}

double
glow_dequantize(const glow_type *from, int64_t q)
{
    return (double)((float)((double)q - (double)from->offset) * from->scale);
}

int64_t
glow_quantize_sum(const glow_type *to, int64_t sum, double unit)
{
    if (glow_quantized_values(to->elem)) {
        float ratio = glow_scale_ratio(unit, (double)to->scale);

        return glow_quantized_round(to, (double)((float)sum * ratio));
    }
    return glow_quantized_round(to, (double)sum * (unit / (double)to->scale));
}

int64_t
glow_quantize_bias(double scale, int64_t offset, int64_t q, double unit)
{
    static const glow_type i32 = {.elem = GLOW_INT32Q, .scale = 1};

    return glow_quantized_round(&i32, (double)(q - offset) *
                                          (scale / (double)(float)unit));
}

float
glow_scale_ratio(double from, double to)
{
    return (float)(from / to);
}

int64_t
glow_rescale(const glow_type *from, const glow_type *to, int64_t q)
{
    double a = (double)q - (double)from->offset;

    if (glow_quantized_values(from->elem) && glow_quantized_values(to->elem))
        return glow_quantized_round(
            to, (double)((float)a * glow_scale_ratio((double)from->scale,
                                                     (double)to->scale)));
    return glow_quantized_round(to,
                                a * ((double)from->scale / (double)to->scale));
}

/*
 * Conversion of floats of 8 bits and fewer, by the description of their format.
 */

#include <math.h>

#include "glow/tensor.h"

double
glow_low_to_double(glow_kind kind, uint8_t bits)
{
    const glow_kind_info *k = glow_kind_get(kind);
    const glow_float_format *f = k->format;
    int size = f->exponent + f->fraction, magnitude = bits & ((1 << size) - 1);
    bool is_negative = k->is_signed && bits >> size & 1;
    int exponent = magnitude >> f->fraction;
    int fraction = magnitude & ((1 << f->fraction) - 1);
    bool is_tiny = exponent == 0 && f->fraction > 0;
    double v;

    if (f->nan >= 0 &&
        (bits == f->nan || (f->nan < 1 << size && magnitude > f->largest &&
                            magnitude != f->infinity)))
        return (double)NAN;
    if (f->infinity >= 0 && magnitude == f->infinity)
        return is_negative ? -(double)INFINITY : (double)INFINITY;
    v = ldexp(fraction + (is_tiny ? 0 : 1 << f->fraction),
              (is_tiny ? 1 : exponent) - f->bias - f->fraction);
    return is_negative ? -v : v;
}

/* The exponent of the power of two that `v` > 0 is rounded to. */
static int
power_of(double v, int round)
{
    int exponent;
    double fraction = frexp(v, &exponent); /* in [1/2, 1) */

    if (round == GLOW_ROUND_UP)
        return fraction > 0.5 ? exponent : exponent - 1;
    if (round == GLOW_ROUND_NEAREST)
        return fraction >= 0.75 ? exponent : exponent - 1;
    return exponent - 1;
}

/* float8e8m0: bits are the exponent. */
static uint8_t
power_bits(const glow_float_format *f, double v, bool saturates, int round)
{
    double least = ldexp(1, -f->bias);
    int bits;

    if (isnan(v) || v < 0 || (!saturates && !(v >= least && isfinite(v))))
        return (uint8_t)f->nan;
    if (v < least)
        return 0;
    bits = isinf(v) ? f->largest + 1 : power_of(v, round) + f->bias;
    if (bits <= f->largest)
        return (uint8_t)bits;
    return (uint8_t)(saturates ? f->largest : f->nan);
}

/* Bits of the magnitude `v`, finite, to nearest even; they may be too many. */
static double
magnitude_bits(const glow_float_format *f, double v)
{
    int exponent, ulp;

    if (v == 0)
        return 0;
    frexp(v, &exponent);
    ulp = exponent - 1 - f->fraction;
    if (ulp < 1 - f->bias - f->fraction)
        ulp = 1 - f->bias - f->fraction;
    return nearbyint(ldexp(v, -ulp)) +
           ldexp(ulp - (1 - f->bias - f->fraction), f->fraction);
}

uint8_t
glow_double_to_low(glow_kind kind, double v, bool saturates, int round)
{
    const glow_kind_info *k = glow_kind_get(kind);
    const glow_float_format *f = k->format;
    int sign = 1 << (f->exponent + f->fraction);
    double bits;

    if (!k->is_signed)
        return power_bits(f, v, saturates, round);
    if (isnan(v))
        return (uint8_t)(f->nan >= 0 ? f->nan : f->largest);
    if (isinf(v) && f->nan == sign)
        return (uint8_t)f->nan;
    bits = isinf(v) ? 2 * sign : magnitude_bits(f, fabs(v));
    if (bits > f->largest) {
        if (saturates || f->nan < 0)
            bits = f->largest;
        else if (f->infinity >= 0)
            bits = f->infinity;
        else
            return (uint8_t)f->nan;
    }
    if (signbit(v) && !(bits == 0 && f->nan == sign))
        bits += sign;
    return (uint8_t)bits;
}

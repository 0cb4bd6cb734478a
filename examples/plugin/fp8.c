/*
 * An element kind: the upper half of a binary16, a sign, five bits of exponent
 * and two of fraction (E5M2; Micikevicius et al., arXiv 2209.05433, section 3).
 */

#include <math.h>
#include <string.h>

#include "demo.h"

#include <glow/tensor.h>

enum { FRACTION_BITS = 2, LEAST_ULP = -16, OVERFLOWS = 61440 };

static double
get(const void *element)
{
    uint8_t bits;

    memcpy(&bits, element, sizeof bits);
    return (double)glow_half_to_float((uint16_t)(bits << 8));
}

/* To nearest even; from 61440, half-way past the largest, to infinity. */
static void
set(void *element, double v)
{
    double size = fabs(v);
    uint8_t bits;
    int exponent, ulp;

    if (size < OVERFLOWS) {
        frexp(size, &exponent);
        ulp = exponent - 1 - FRACTION_BITS;
        if (ulp < LEAST_ULP)
            ulp = LEAST_ULP;
        size = ldexp(nearbyint(ldexp(size, -ulp)), ulp);
    } else if (!isnan(v)) {
        size = INFINITY;
    }
    bits = (uint8_t)(glow_float_to_half((float)copysign(size, v)) >> 8);
    memcpy(element, &bits, sizeof bits);
}

const glow_kind_info demo_kind_fp8 = {
    .name = "demo.fp8",
    .bytes = 1,
    .bits = 8,
    .is_signed = true,
    .klass = GLOW_CLASS_FLOAT,
    .doc = "E5M2, the upper half of a binary16",
    .epsilon = 0.25,
    .get = get,
    .set = set,
};

/*
 * Inputs of tests.
 *
 * Element i of a seeded fill depends on the seed and i alone, so that it is the
 * same on every machine and does not change with what was drawn before.
 */

#include <float.h>
#include <math.h>

#include "glow/eval.h"

/* SplitMix64: Steele, Lea, Flood, OOPSLA 2014, as a function of the index. */
static uint64_t
draw(uint64_t seed, int64_t i)
{
    uint64_t z = seed + ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [-1, 1): 24 bits, so that binary32 holds it exactly. */
static double
uniform(uint64_t bits)
{
    return (double)(bits >> 40) * 0x1p-23 - 1.0;
}

static const double specials[] = {
    0.0,     -0.0,     1.0,      -1.0,      FLT_MIN,     -FLT_MIN, FLT_TRUE_MIN,
    FLT_MAX, -FLT_MAX, INFINITY, -INFINITY, (double)NAN, 0x1p-60,  -0x1p60,
};

enum {
    N_SPECIALS = sizeof specials / sizeof specials[0],
    SMALL_INTS = 5, /* 0 to 4: also as indices they are likely to be in range */
    SMALL_FLOAT = 4,
};

static double
float_at(glow_fill how, uint64_t bits, int64_t i, int64_t n)
{
    switch (how) {
    case GLOW_FILL_ZERO:
        return 0;
    case GLOW_FILL_RAMP:
        return (double)i / (double)n;
    case GLOW_FILL_RANDOM:
        return uniform(bits);
    case GLOW_FILL_SMALL:
        return (double)((int64_t)(bits % (2 * SMALL_FLOAT + 1)) - SMALL_FLOAT);
    case GLOW_FILL_SPECIAL:
        return bits & 1 ? specials[(bits >> 1) % N_SPECIALS] : uniform(bits);
    }
    return 0;
}

/* glow_set_int keeps the low bits, which is the ramp modulo the range. */
static int64_t
int_at(glow_fill how, uint64_t bits, int64_t i)
{
    if (how == GLOW_FILL_ZERO)
        return 0;
    if (how == GLOW_FILL_RAMP)
        return i;
    return (int64_t)(bits % SMALL_INTS);
}

/* Any bits are a value; small ones keep sums from saturating. */
static int64_t
quantized_at(glow_fill how, uint64_t bits, int64_t i)
{
    if (how == GLOW_FILL_ZERO)
        return 0;
    if (how == GLOW_FILL_RAMP)
        return i;
    if (how == GLOW_FILL_SMALL)
        return (int64_t)(bits % (2 * SMALL_FLOAT + 1));
    return (int64_t)bits;
}

/* A row of a fused kind ends in a scale and an offset: any bytes are a row. */
static void
fill_bytes(const glow_tensor *t, glow_fill how, uint64_t seed)
{
    uint8_t *bytes = t->data;
    int64_t n = glow_type_bytes(t->type);

    for (int64_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)quantized_at(how, draw(seed, i), i);
}

void
glow_tensor_fill(const glow_tensor *t, glow_fill how, uint64_t seed)
{
    int64_t n = glow_type_count(t->type);
    glow_kind_class klass = glow_kind_get(t->type->elem)->klass;

    if (klass == GLOW_CLASS_FUSED) {
        fill_bytes(t, how, seed);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = draw(seed, i);

        if (glow_is_real(t->type->elem))
            glow_set_double(t, i, float_at(how, bits, i, n));
        else if (klass == GLOW_CLASS_QUANTIZED)
            glow_set_int(t, i, quantized_at(how, bits, i));
        else if (klass == GLOW_CLASS_BOOL)
            glow_set_int(t, i, int_at(how, bits, i) & 1);
        else
            glow_set_int(t, i, int_at(how, bits, i));
    }
}

/*
 * Generated inputs of tests.
 *
 * Element i of a seeded fill depends on the seed and i alone, so that it is the
 * same on every machine, whatever was drawn before.
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

/*
 * Extreme values, the most revealing first, since a small tensor takes only
 * four of them.
 */
static const double ends[] = {
    -0.0,         (double)NAN, -1.5,    INFINITY, 0.0,     -INFINITY,
    FLT_TRUE_MIN, 1.0,         FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN,
    0x1p-60,      -0x1p60,     0.5,     2.5,
};

/* Extreme integers: a base, and an offset from it. */
enum { ZERO, LEAST, LARGEST, HALF_LEAST, HALF_LARGEST };
static const struct {
    int base, more;
} int_ends[] = {
    {LEAST, 0}, {ZERO, -1},  {LARGEST, 0}, {ZERO, 3},
    {ZERO, 0},  {LEAST, 1},  {ZERO, 1},    {LARGEST, -1},
    {ZERO, 2},  {ZERO, -2},  {ZERO, -7},   {HALF_LEAST, 0},
    {ZERO, 10}, {ZERO, 100}, {ZERO, -10},  {HALF_LARGEST, 1},
};

enum { N_ENDS = 16 };

/*
 * The index of element `i` in the table of extremes: from quarter `seed` % 4
 * on, in steps that depend on the rest of the seed, so that operands combine in
 * many pairs.
 */
static int
turn_at(uint64_t seed, int64_t i)
{
    uint64_t at = (uint64_t)i + N_ENDS / 4 * (seed % 4);
    uint64_t step = (seed >> 2) * 2 + 1, from = (seed >> 8) + at / N_ENDS * 5;

    return (int)((at % N_ENDS * step + from) % N_ENDS);
}

static double
wide(uint64_t bits, int highest)
{
    int exponent = highest - (int)(bits % 12);
    double v = ldexp((double)(bits >> 40 | 1 << 23), exponent - 24);

    return bits >> 32 & 1 ? -v : v;
}

/* 1, a number, 2, a number, and so on. */
static int64_t
count_at(uint64_t bits, int64_t i)
{
    return i % 2 == 0 ? 1 + i / 2 % 64 : 1 + (int64_t)(bits >> 8) % 64;
}

static double
counted(uint64_t bits, int64_t i)
{
    double v = (double)count_at(bits & UINT64_MAX >> 1, i);

    v += i % 4 == 3 && bits >> 62 ? 0.5 : 0;
    return i % 3 == 2 ? -v : v;
}

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
    case GLOW_FILL_COUNT:
        return counted(bits, i);
    default:
        return 0;
    }
}

/* glow_set_int keeps the low bits: the ramp modulo the range. */
static int64_t
int_at(glow_fill how, uint64_t bits, int64_t i)
{
    if (how == GLOW_FILL_ZERO)
        return 0;
    if (how == GLOW_FILL_RAMP)
        return i;
    if (how == GLOW_FILL_WIDE)
        return (int64_t)(bits >> (1 + bits % 63)) * (bits >> 6 & 1 ? -1 : 1);
    if (how == GLOW_FILL_COUNT)
        return (int64_t)(bits % 19) - 9;
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

static void
fill_ends(const glow_tensor *t, uint64_t seed)
{
    const glow_kind_info *kind = glow_kind_get(t->type->elem);
    int64_t largest = INT64_MAX >> (64 - 8 * kind->bytes);
    const int64_t base[] = {
        [LEAST] = -largest - 1,
        [LARGEST] = largest,
        [HALF_LEAST] = -(largest / 2) - 1,
        [HALF_LARGEST] = largest / 2,
    };

    for (int64_t i = 0; i < glow_type_count(t->type); i++) {
        int at = turn_at(seed, i);

        if (glow_is_real(t->type->elem))
            glow_set_double(t, i, ends[at]);
        else if (kind->klass == GLOW_CLASS_BOOL)
            glow_set_int(t, i, at & 1);
        else
            glow_set_int(t, i, base[int_ends[at].base] + int_ends[at].more);
    }
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
    if (how == GLOW_FILL_ENDS) {
        fill_ends(t, seed);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = draw(seed, i);

        if (glow_is_real(t->type->elem))
            glow_set_double(
                t, i,
                how == GLOW_FILL_WIDE
                    ? wide(bits, glow_type_bytes(t->type) > 2 * n ? 3 : 0)
                    : float_at(how, bits, i, n));
        else if (klass == GLOW_CLASS_QUANTIZED)
            glow_set_int(t, i, quantized_at(how, bits, i));
        else if (klass == GLOW_CLASS_BOOL)
            glow_set_int(t, i, int_at(how, bits, i) & 1);
        else
            glow_set_int(t, i, int_at(how, bits, i));
    }
}

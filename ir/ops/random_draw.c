/* MT19937 and the numbers drawn from it; see random.h. */

#include <math.h>

#include "ir/ops/random.h"

#define WORDS GLOW_RANDOM_WORDS
#define SHIFT 397

void
glow_random_seed(glow_random *r, uint32_t seed)
{
    r->word[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++)
        r->word[i] = 1812433253u * (r->word[i - 1] ^ r->word[i - 1] >> 30) + i;
    r->next = WORDS;
    r->has_spare = false;
}

/* Computes the next block of words. */
static void
refill(glow_random *r)
{
    for (int i = 0; i < WORDS; i++) {
        uint32_t y = (r->word[i] & 0x80000000u) |
                     (r->word[(i + 1) % WORDS] & 0x7fffffffu);

        r->word[i] =
            r->word[(i + SHIFT) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    r->next = 0;
}

static uint32_t
draw(glow_random *r)
{
    uint32_t y;

    if (r->next == WORDS)
        refill(r);
    y = r->word[r->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

double
glow_random_uniform(glow_random *r)
{
    uint32_t high = draw(r) >> 5, low = draw(r) >> 6;

    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/*
 * ln(x) of 0 < x < 1: with x = m 2^e and s = (m - 1) / (m + 1), it is e ln(2) +
 * 2 (s + s^3 / 3 + s^5 / 5 + ...).  |s| < 0.18, so that 12 terms are enough.
 */
static double
logarithm(double x)
{
    int e;
    double m = frexp(x, &e), s, square, sum = 0;

    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    for (int i = 23; i > 0; i -= 2)
        sum = sum * square + 1.0 / i;
    return e * 0.69314718055994531 + 2 * s * sum;
}

/* Marsaglia's polar method: a point in the unit circle gives two numbers. */
double
glow_random_normal(glow_random *r)
{
    double x, y, square, f;

    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    do {
        x = 2 * glow_random_uniform(r) - 1;
        y = 2 * glow_random_uniform(r) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    f = sqrt(-2 * logarithm(square) / square);
    r->has_spare = true;
    r->spare = f * x;
    return f * y;
}

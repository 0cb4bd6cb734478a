/* Sample of the cases of a test whose whole takes minutes, drawn by the commit's seed. */

#ifndef GLOW_TEST_SAMPLE_H
#define GLOW_TEST_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * True if the next case is in the sample: one of each N = GLOW_TEST_SAMPLE cases in
 * turn, drawn by GLOW_TEST_SEED (test/sample.py).  Without N all cases are.
 */
static inline bool
is_in_sample(void)
{
    static uint64_t cases;
    const char *size = getenv("GLOW_TEST_SAMPLE");
    const char *seed = getenv("GLOW_TEST_SEED");
    uint64_t n = size ? strtoull(size, NULL, 10) : 1, number = cases++;
    uint64_t h = (seed ? strtoull(seed, NULL, 10) : 1) * 1000003;

    if (n < 2)
        return true;
    h = (h + number / n) * 6364136223846793005u + 1442695040888963407u;
    h = (h ^ h >> 32) * 6364136223846793005u;
    return (h >> 33) % n == number % n;
}

#endif

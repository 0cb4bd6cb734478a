/*
 * Philox 4x32-10, a counter-based generator: random bits as a function of a key and a
 * counter, so that any of them can be drawn at any time, in any order, again.
 *
 * Source: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3
 * (SC 2011).
 */

#ifndef GLOW_PHILOX_H
#define GLOW_PHILOX_H

#include <stdint.h>

#include "glow/base.h"

GLOW_BEGIN

typedef struct glow_philox {
    uint32_t at[4];
} glow_philox;

/* The bits of `counter` (the low word first) under `key`. */
static inline glow_philox
glow_philox_bits(uint64_t key, uint64_t low, uint64_t high)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    glow_philox x = {{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                      (uint32_t)(high >> 32)}};

    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * x.at[0];
        uint64_t b = (uint64_t)0xcd9e8d57u * x.at[2];

        x = (glow_philox){{(uint32_t)(b >> 32) ^ x.at[1] ^ k0, (uint32_t)b,
                           (uint32_t)(a >> 32) ^ x.at[3] ^ k1, (uint32_t)a}};
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return x;
}

/* A number below `n`, which is not 0, from 64 random bits: off by n / 2^64. */
static inline uint64_t
glow_philox_below(glow_philox x, uint32_t n)
{
    uint64_t low = (uint64_t)x.at[0] * n, high = (uint64_t)x.at[1] * n;

    return (high + (low >> 32)) >> 32;
}

/* A number from 0 to 1, without 1, of 24 bits. */
static inline float
glow_philox_unit(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

GLOW_END

#endif

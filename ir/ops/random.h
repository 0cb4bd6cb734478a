/*
 * The generator of all random operators: MT19937.
 *
 * Matsumoto, Nishimura, Mersenne Twister, ACM TOMACS 8(1), 1998; seeded by one
 * number of 32 bits; numbers in [0, 1) have 53 bits, from two words.  So a seed
 * gives the numbers of numpy.random.RandomState(seed): `uniform` those of
 * random_sample, `normal` those of standard_normal.  It uses only integers,
 * sums, products, quotients and square roots, so that the bits are the same on
 * every machine.
 */

#ifndef IR_OPS_RANDOM_H
#define IR_OPS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#define GLOW_RANDOM_WORDS 624

typedef struct glow_random {
    uint32_t word[GLOW_RANDOM_WORDS];
    int next;
    bool has_spare;
    double spare; /* the second of a pair of normal numbers */
} glow_random;

void glow_random_seed(glow_random *r, uint32_t seed);
double glow_random_uniform(glow_random *r); /* in [0, 1) */
double glow_random_normal(glow_random *r);  /* mean 0, variance 1 */

#endif

/* Comparing two results of one computation; see glow/semantics.h. */

#ifndef GLOW_PASSES_COMPARE_H
#define GLOW_PASSES_COMPARE_H

#include "glow/pass.h"

/* The worst pair of elements that exceeds the bound. */
typedef struct glow_difference {
    int64_t index; /* in row-major order */
    double before, after;
    double bound; /* 0 where they had to be equal */
} glow_difference;

/* True unless some elements differ in their bits; NaN equals NaN. */
bool glow_compare_bits(const glow_tensor *before, const glow_tensor *after,
                       glow_difference *out);

/*
 * True if `after` is as near to `before` as GLOW_REASSOC requires, given the
 * result `shadow` of a float64 run (float64 where the others have a float kind)
 * and the precision `eps`.  `is_exact`: sums of the inputs are exact.
 */
bool glow_compare_near(const glow_tensor *before, const glow_tensor *after,
                       const glow_tensor *shadow, double eps, bool is_exact,
                       glow_difference *out);

/*
 * True if `after` differs only by its own roundings: float64 runs of the two
 * functions agree to the precision `eps`, and `after` is within a thousand
 * roundings of its largest number of its float64 run.
 */
bool glow_compare_roundings(const glow_tensor *after,
                            const glow_tensor *shadow_before,
                            const glow_tensor *shadow_after, double eps);

/*
 * True if the distance of `after` and `before` is explained by roundings: at
 * most 16 times the largest distance of the float64 runs `noisy`, each step of
 * which is perturbed by about a rounding, and `shadow`.
 */
bool glow_compare_noise(const glow_tensor *before, const glow_tensor *after,
                        const glow_tensor *shadow, const glow_tensor *noisy);

#endif

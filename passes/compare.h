/* Comparing two results of one computation; see glow/semantics.h. */

#ifndef GLOW_PASSES_COMPARE_H
#define GLOW_PASSES_COMPARE_H

#include "glow/pass.h"

/* The worst pair of elements, if any is too far apart. */
typedef struct glow_difference {
    int64_t index; /* in row-major order */
    double before, after;
    double bound; /* 0 where they had to be equal */
} glow_difference;

/* True unless some elements differ in their bits; NaN equals NaN. */
bool glow_compare_bits(const glow_tensor *before, const glow_tensor *after,
                       glow_difference *out);

/*
 * True if `after` is as near to `before` as GLOW_REASSOC asks, given the result
 * of a float64 run (float64 where the others are of a float kind) and the
 * precision to judge by.  `is_exact` says that sums of the inputs are exact.
 */
bool glow_compare_near(const glow_tensor *before, const glow_tensor *after,
                       const glow_tensor *shadow, double eps, bool is_exact,
                       glow_difference *out);

/*
 * True if `after` differs from what it was by its own roundings alone: float64
 * runs of the two functions agree to the precision `eps`, and `after` is no
 * further from its own than a thousand roundings of its largest number.
 */
bool glow_compare_roundings(const glow_tensor *after,
                            const glow_tensor *shadow_before,
                            const glow_tensor *shadow_after, double eps);

/*
 * True if `after` is no further from `before` than roundings may move this: 16
 * times as far as the float64 run `noisy`, each step of which is off by about a
 * rounding, is anywhere from the exact one.
 */
bool glow_compare_noise(const glow_tensor *before, const glow_tensor *after,
                        const glow_tensor *shadow, const glow_tensor *noisy);

#endif

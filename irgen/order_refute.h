/* Proofs that no order keeps to a peak. */

#ifndef IRGEN_ORDER_REFUTE_H
#define IRGEN_ORDER_REFUTE_H

#include "irgen/order.h"

/*
 * True if no order of the `n` tasks `part`, which is one itself and begins where
 * the walk is, has a peak of at most `most`.  False if that cannot be told by
 * this rule in the steps, about, from which those taken are subtracted.
 */
bool glow_order_refute(glow_arena *a, glow_order_walk *walk,
                       const uint32_t *part, uint32_t n, int64_t most,
                       int64_t *steps);

#endif

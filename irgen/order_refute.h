/* Proofs that no order keeps to a peak. */

#ifndef IRGEN_ORDER_REFUTE_H
#define IRGEN_ORDER_REFUTE_H

#include "irgen/order.h"

typedef struct glow_order_refuter glow_order_refuter;

/* For the `n` tasks `part`, an order that begins where the walk is. */
glow_order_refuter *glow_order_refuter_new(glow_arena *a, glow_order_walk *walk,
                                           const uint32_t *part, uint32_t n);

/*
 * True if no order of them has a peak of `most` or less, as far as `*steps`,
 * about, tell, from which those taken are subtracted.  What was learnt of a
 * higher peak than that is used again.
 */
bool glow_order_refute(glow_order_refuter *r, int64_t most, int64_t *steps);

#endif

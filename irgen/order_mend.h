/* Better orders by searching again, where they need most. */

#ifndef IRGEN_ORDER_MEND_H
#define IRGEN_ORDER_MEND_H

#include "irgen/order.h"

/*
 * Betters the order of the `n` tasks `part`, which begin where the walk is,
 * until the steps, about, are spent, no stretch of it can be made better, or it
 * needs no more than `bound`.  It is never worse than before.
 */
void glow_order_mend(glow_arena *a, glow_order_walk *walk, uint32_t *part,
                     uint32_t n, int64_t bound, int64_t *steps);

#endif

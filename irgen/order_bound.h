/* What no order can go below. */

#ifndef IRGEN_ORDER_BOUND_H
#define IRGEN_ORDER_BOUND_H

#include "irgen/order.h"

/* No order needs less than the task that needs most by itself. */
int64_t glow_order_bound_by_task(glow_arena *a, const glow_order_net *net);

/*
 * Raises `bound` by what is alive in any case when one of the `n` tasks `part`
 * runs, an order that begins where the walk is.  Tasks that need no more than
 * the bound in that order are left out, and so is what the steps, about, do not
 * suffice for.
 */
int64_t glow_order_bound_by_cut(glow_arena *a, glow_order_walk *walk,
                                const uint32_t *part, uint32_t n, int64_t bound,
                                int64_t *steps);

#endif

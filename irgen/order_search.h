/* A least order of each part, or as good a one as the steps suffice for. */

#ifndef IRGEN_ORDER_SEARCH_H
#define IRGEN_ORDER_SEARCH_H

#include "irgen/order_parts.h"

/*
 * Betters the order of `parts`; *steps are what is left of the budget, all of
 * it for the search that proves if `exact`.  Returns what no order can go
 * below, which is at least `bound`.
 */
int64_t glow_order_search(glow_arena *a, glow_order_parts *parts, bool exact,
                          int64_t bound, int64_t *steps);

#endif

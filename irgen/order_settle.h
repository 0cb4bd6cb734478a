/* An order of a stretch that is best whatever runs meanwhile. */

#ifndef IRGEN_ORDER_SETTLE_H
#define IRGEN_ORDER_SETTLE_H

#include "irgen/order.h"

/*
 * The first task of the net runs before all others, and the last behind them;
 * the order of those between goes to `tasks`.  False, and steps are taken, if
 * `*steps` do not suffice.
 */
bool glow_order_settle(glow_arena *a, const glow_order_net *net,
                       uint32_t *tasks, int64_t *steps);

#endif

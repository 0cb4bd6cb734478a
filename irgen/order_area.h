/* Fewer bytes over time, at the same peak. */

#ifndef IRGEN_ORDER_AREA_H
#define IRGEN_ORDER_AREA_H

#include "irgen/order.h"

/* Changes the order `tasks`, of which no task needs more than `peak`. */
void glow_order_lessen_area(glow_arena *a, const glow_order_net *net,
                            uint32_t *tasks, int64_t peak);

#endif

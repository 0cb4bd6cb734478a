/* Stretches that every order has in common, and the best order of each. */

#ifndef IRGEN_ORDER_PARTS_H
#define IRGEN_ORDER_PARTS_H

#include "irgen/order.h"

typedef struct glow_order_part {
    uint32_t first, n; /* places in an order */
    glow_order_cost cost;
    const char *by; /* what found its order */
} glow_order_part;

typedef struct glow_order_parts {
    const glow_order_net *net;
    uint32_t *tasks; /* the best order so far */
    glow_order_part *items;
    uint32_t n;
} glow_order_parts;

glow_order_parts *glow_order_parts_new(glow_arena *a,
                                       const glow_order_net *net);

/*
 * Takes those parts of an order that are better: lower than `enough`, or than
 * what there is, and else of smaller area.
 */
void glow_order_parts_offer(glow_arena *a, glow_order_parts *parts,
                            const uint32_t *tasks, int64_t enough,
                            const char *by);

/* The part that needs most. */
glow_order_part *glow_order_parts_worst(glow_order_parts *parts);

#endif

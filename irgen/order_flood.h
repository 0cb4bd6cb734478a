/* Search for a least order of a part of a problem. */

#ifndef IRGEN_ORDER_FLOOD_H
#define IRGEN_ORDER_FLOOD_H

#include "irgen/order.h"

typedef enum glow_order_end {
    GLOW_ORDER_FOUND,   /* an order; none has a lower peak */
    GLOW_ORDER_NONE,    /* none has a peak below the one to beat */
    GLOW_ORDER_STOPPED, /* the steps are spent; run again with more */
} glow_order_end;

/* What others see of a search; its memory serves one part after another. */
typedef struct glow_order_flood {
    glow_order_walk *walk; /* where the part begins, after a start */
    double pull;    /* bytes that a task more is worth when states are compared:
                       0 goes through them by bytes alone */
    int64_t budget; /* no order has a lower peak; raised by the search, and
                        between runs by those who know better */
    int64_t beat;   /* a peak that is known; may be lowered between runs */
    uint32_t *tasks; /* the order, if one was found */
} glow_order_flood;

/* `order` is one of all tasks, in which each part is a stretch. */
glow_order_flood *glow_order_flood_new(glow_arena *a, const glow_order_net *net,
                                       const uint32_t *order);

/* Begins with the `n` tasks from place `first`; budget and beat are set. */
void glow_order_flood_start(glow_order_flood *flood, uint32_t first,
                            uint32_t n);

/* Goes on for about `*steps` steps, and subtracts those taken. */
glow_order_end glow_order_flood_run(glow_order_flood *flood, int64_t *steps);

#endif

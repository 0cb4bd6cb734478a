/* Stretches of a problem that are made a chain each, once for all. */

#ifndef IRGEN_ORDER_CONTRACT_H
#define IRGEN_ORDER_CONTRACT_H

#include "irgen/order.h"

typedef struct glow_order_contraction {
    const glow_order_net *net; /* with fewer tasks, and the same least peak */
    glow_order_lists tasks; /* by its tasks: what each stands for, in order */
} glow_order_contraction;

/* NULL if there is nothing to make shorter; takes up to `*steps`, about. */
glow_order_contraction *
glow_order_contract(glow_arena *a, const glow_order_net *net, int64_t *steps);

#endif

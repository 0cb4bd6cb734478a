/* What no order can go below. */

#ifndef IRGEN_ORDER_BOUND_H
#define IRGEN_ORDER_BOUND_H

#include "irgen/order_cut.h"

/* No order needs less than the task that needs most by itself. */
int64_t glow_order_bound_by_task(glow_arena *a, const glow_order_net *net);

/* Asks what is alive in any case when a task runs. */
typedef struct glow_order_bounder {
    const glow_order_net *net;
    glow_order_walk *walk; /* where the part begins */
    glow_order_cut *cut;
    const glow_order_more *const *before, *const *after; /* by task: what more
                               has to run before and after; NULL: nothing */
    uint32_t *free, n_free; /* of the last question: what may run on either
                               side; their sides are those of the least set */
    int64_t *largest;
    uint32_t *stack;
} glow_order_bounder;

/* The walk stays as it is between questions. */
glow_order_bounder *glow_order_bounder_new(glow_arena *a,
                                           glow_order_walk *walk);

/* No order of the `n` tasks `part`, which is one itself and begins where the
 * walk is, needs less for `task`. */
int64_t glow_order_bound_of(glow_order_bounder *b, const uint32_t *part,
                            uint32_t n, uint32_t task);

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

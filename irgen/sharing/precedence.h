/*
 * Who runs before whom: in the one order that is given, or in every order that
 * there may be.
 */

#ifndef IRGEN_SHARING_PRECEDENCE_H
#define IRGEN_SHARING_PRECEDENCE_H

#include "glow/order.h"
#include "irgen/sharing/classes.h"

typedef struct glow_ranks {
    const glow_order_task *tasks; /* who waits for whom */
    const uint32_t *node;         /* by rank, in an order in which none waits */
    uint32_t *rank;               /* by node */
    uint32_t count;
    bool fixed;      /* it will be that order */
    uint32_t *first; /* by node, if it is not: its number in a tree, and */
    uint32_t *end;   /* the last below it */
    uint32_t *stamp; /* by node, for searches */
    uint32_t now;
    uint32_t *stack;
} glow_ranks;

/* `order`, or where that is NULL, the one given, mended.  NULL if there is none:
   then tasks wait in a ring. */
glow_ranks *glow_ranks_new(glow_arena *a, const glow_order_problem *p,
                           const uint32_t *order);

/*
 * Does each node of `set` run before `n`?  False where it cannot be told with
 * little work.
 */
bool glow_ranks_precede(glow_ranks *r, const uint32_t *set, uint32_t count,
                        uint32_t n);

/* Do all that touch the class run before `n`, but itself? */
bool glow_ranks_is_last(glow_ranks *r, const glow_classes *c, uint32_t class,
                        uint32_t n);

#endif

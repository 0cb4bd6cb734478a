/*
 * Precedence of nodes in every order of a graph.
 */

#ifndef IRGEN_SHARING_PRECEDENCE_H
#define IRGEN_SHARING_PRECEDENCE_H

#include "glow/order.h"
#include "irgen/sharing/graph.h"

typedef struct glow_ranks {
    const glow_order_task *tasks; /* who waits for whom */
    const uint32_t *node;         /* by rank, in an order in which none waits */
    uint32_t *rank;               /* by node */
    uint32_t count;
    uint32_t *first; /* by node: its number in a tree, and */
    uint32_t *end;   /* the last below it */
    uint32_t *stamp; /* by node, for searches */
    uint32_t now;
    uint32_t *stack;
} glow_ranks;

/* Ranks in the order of the text, mended.  NULL if there is no order: tasks wait in a
   ring. */
glow_ranks *glow_ranks_new(glow_arena *a, const glow_order_problem *p);

/*
 * Does each node of `set` run before `n`?  False where it cannot be told with
 * little work.
 */
bool glow_ranks_precede(glow_ranks *r, const uint32_t *set, uint32_t count,
                        uint32_t n);

/* True if all other nodes that access the buffer run before `n`. */
bool glow_ranks_is_last(glow_ranks *r, const glow_graph_table *t,
                        uint32_t buffer, uint32_t n);

#endif

/*
 * Regions of a problem contracted to chains: the quotient graph.
 *
 * A region is a set of tasks between two boundary tasks, closed under its
 * dependences and buffers (contract.c).
 */

#ifndef IRGEN_SCHEDULE_CHAINS_H
#define IRGEN_SCHEDULE_CHAINS_H

#include "irgen/schedule/dominators.h"

enum { GLOW_ORDER_FORWARD, GLOW_ORDER_BACKWARD, GLOW_ORDER_DIRECTIONS };
enum { GLOW_ORDER_NOWHERE = UINT32_MAX, GLOW_ORDER_SEVERAL = UINT32_MAX - 1 };

/* Merged tasks have the number of the first of them. */
typedef struct glow_order_quotient {
    glow_arena *a, *scratch; /* `scratch` is reset for each region */
    const glow_order_net *net;
    glow_order_lists
        lists[GLOW_ORDER_DIRECTIONS]; /* successors, predecessors */
    glow_order_dominators trees[GLOW_ORDER_DIRECTIONS]; /* dominators,
                                                           post-dominators */
    uint32_t *one;           /* by task: parent of the union-find forest */
    uint32_t *follow, *tail; /* tasks of a merged task, as a list in order */
    bool *linked;            /* by merged task: it is in a chain, between: */
    uint32_t *link[GLOW_ORDER_DIRECTIONS];
    bool *ends[GLOW_ORDER_DIRECTIONS]; /* it is an end of its chain */
    glow_order_task *now; /* by merged task: the buffers that it touches */
    bool changed;
    int64_t steps; /* that remain */

    uint32_t *nodes, n;       /* the current region, in order */
    uint32_t outer[2];        /* its boundary tasks, or GLOW_ORDER_NOWHERE */
    uint32_t *seen, stamp;    /* by merged task: in the region if equal */
    uint32_t *place;          /* by merged task: 1 + its index in the region */
    uint32_t *number;         /* by buffer: 1 + its number in the region */
    uint32_t *named, n_named; /* buffers with a number */
} glow_order_quotient;

glow_order_quotient *glow_order_quotient_new(glow_arena *a,
                                             const glow_order_net *net);

/* The merged task that holds `task`. */
uint32_t glow_order_representative(glow_order_quotient *m, uint32_t task);

/* The next neighbour of `x` from the cursor on, or GLOW_ORDER_NOWHERE; some are
 * repeated. */
uint32_t glow_order_neighbour(glow_order_quotient *m, uint32_t x, int way,
                              uint32_t *cursor);

/* The only neighbour of `x`, GLOW_ORDER_NOWHERE, or GLOW_ORDER_SEVERAL. */
uint32_t glow_order_only_neighbour(glow_order_quotient *m, uint32_t x, int way);

/* Sets the current region: `n` tasks in order between two boundary tasks, each of
 * which may be GLOW_ORDER_NOWHERE. */
void glow_order_set_region(glow_order_quotient *m, const uint32_t *tasks,
                           uint32_t n, uint32_t before, uint32_t behind);

/* True if every buffer of task `x` is used only inside the region, or by tasks at
 * or beyond its boundaries. */
bool glow_order_is_closed(glow_order_quotient *m, uint32_t x);

/* Contracts the region to a chain if its order can be solved; with `is_chain` it
 * has only one. */
void glow_order_contract_region(glow_order_quotient *m, bool is_chain);

#endif

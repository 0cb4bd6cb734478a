/*
 * Dominator and post-dominator trees of the task graph, which is acyclic.
 */

#ifndef IRGEN_SCHEDULE_DOMINATORS_H
#define IRGEN_SCHEDULE_DOMINATORS_H

#include "irgen/schedule/order.h"

/*
 * A dominator tree (Lengauer and Tarjan, TOPLAS 1979).  The parent of a task is
 * its immediate dominator, or the root, whose number is the number of tasks.
 */
typedef struct glow_order_dominators {
    uint32_t *above, *depth;
    uint32_t *jump; /* skip pointer to some ancestor */
} glow_order_dominators;

/*
 * `order` is a topological order of the `n` tasks.  Replaces the lists of
 * predecessors by lists without those that dominate another one of the same list.
 */
glow_order_dominators glow_order_dominators_new(glow_arena *a,
                                                const uint32_t *order,
                                                uint32_t n,
                                                glow_order_lists *before);

/* True if `x` dominates `task` or is `task`. */
bool glow_order_dominates(const glow_order_dominators *tree, uint32_t x,
                          uint32_t task);

#endif

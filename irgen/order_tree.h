/* What all ways to a task, or from it, lead through. */

#ifndef IRGEN_ORDER_TREE_H
#define IRGEN_ORDER_TREE_H

#include "irgen/order.h"

/*
 * The tree of dominators (Lengauer and Tarjan, TOPLAS 1979, name it): above
 * each task, the last one that is on all ways to it; above those that have none
 * the root, whose number is that of the tasks.
 */
typedef struct glow_order_tree {
    uint32_t *above, *depth;
    uint32_t *jump; /* to some task farther above, to get there sooner */
} glow_order_tree;

/*
 * `order` has the `n` tasks, each behind those of its list; from the lists
 * vanish tasks that others of the same list lead through anyway.
 */
glow_order_tree glow_order_tree_new(glow_arena *a, const uint32_t *order,
                                    uint32_t n, glow_order_lists *before);

/* True if all ways to `task` lead through `x`, or they are the same. */
bool glow_order_is_above(const glow_order_tree *tree, uint32_t x,
                         uint32_t task);

#endif

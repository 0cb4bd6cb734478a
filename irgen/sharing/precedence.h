/*
 * Precedence: reachability queries on the dependences of a graph.  A node precedes
 * another one if it runs before it in every order.
 */

#ifndef IRGEN_SHARING_PRECEDENCE_H
#define IRGEN_SHARING_PRECEDENCE_H

#include "glow/order.h"
#include "irgen/sharing/graph.h"

typedef struct glow_ranks {
    const glow_order_task *tasks; /* predecessors */
    const uint32_t *node;         /* by rank, in a topological order */
    uint32_t *rank;               /* by node */
    uint32_t count;
    uint32_t *first; /* by node: its preorder number in the tree, and */
    uint32_t *end;   /* the last number of its subtree */
    uint32_t *stamp; /* by node, for searches */
    uint32_t now;
    uint32_t *stack;
} glow_ranks;

/* Ranks by the order of the text, made topological.  NULL if the dependences have
   a cycle. */
glow_ranks *glow_ranks_new(glow_arena *a, const glow_order_problem *p);

/*
 * True if each of the `count` nodes of `set` precedes `n`.  False too if the
 * search gives up.
 */
bool glow_ranks_precede(glow_ranks *r, const uint32_t *set, uint32_t count,
                        uint32_t n);

/* True if all other nodes that access the buffer precede `n`.  False too if the
   search gives up. */
bool glow_ranks_is_last(glow_ranks *r, const glow_graph_table *t,
                        uint32_t buffer, uint32_t n);

#endif

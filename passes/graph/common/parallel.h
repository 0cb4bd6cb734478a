/*
 * Interfaces of the parts of combine-parallel.
 *
 * Members are nodes that may be combined; a group is a set of compatible
 * members. parallel_rules.c defines compatibility, parallel_ranks.c dependences
 * between members, parallel_cost.c the profit, and glow_parallel_join.c builds the
 * combined node.
 */

#ifndef PASSES_GRAPH_COMMON_PARALLEL_H
#define PASSES_GRAPH_COMMON_PARALLEL_H

#include "glow/build.h"
#include "glow/pass.h"

enum { PARALLEL_OPERANDS = 3, PARALLEL_SHARED = -1, PARALLEL_LAST = -2 };

/* A rule for combining nodes of an operator. */
typedef struct parallel_rule {
    const glow_op *op;
    int axis[PARALLEL_OPERANDS];      /* axis along which each operand is
                                       * concatenated, or PARALLEL_SHARED */
    int out;                          /* axis of Result, or PARALLEL_LAST */
    bool (*fits)(const glow_node *n); /* NULL: always */
} parallel_rule;

typedef struct parallel_member {
    glow_node *node;
    const parallel_rule *rule;
    uint64_t key;  /* hash of the properties that must be equal */
    int64_t place; /* position in the function */
    int64_t rank;
} parallel_member;

/* The rule for `n` after `r` (NULL: the first); NULL if there are no more. */
const parallel_rule *glow_parallel_next_rule(const parallel_rule *r,
                                             const glow_node *n);
/* The axis of the result along which it is sliced. */
int glow_parallel_axis(const parallel_rule *r, const glow_node *n);
/* A hash that is equal for compatible nodes. */
uint64_t glow_parallel_key(const parallel_rule *r, const glow_node *n);
/* True if two nodes are compatible. */
bool glow_parallel_alike(const parallel_rule *r, const glow_node *x,
                         const glow_node *y);

typedef struct parallel_ranks parallel_ranks;

/*
 * Ranks for a function that gets at most `more` new nodes before the last
 * query.
 */
parallel_ranks *glow_parallel_ranks_new(glow_arena *a, const glow_func *f,
                                        size_t more);
/*
 * Computes the ranks of members of any groups: members of one rank are
 * independent, and combining them creates no cycle.
 */
void glow_parallel_rank(parallel_ranks *r, parallel_member *m, size_t count);

/* True if one node takes less time than all members. */
bool glow_parallel_pays(glow_pass_run *run, const parallel_member *m,
                        size_t count);

/* Replaces all members by slices of one node; false after a report. */
bool glow_parallel_join(glow_builder *b, const parallel_member *m,
                        size_t count);

#endif

/*
 * What the parts of combine-parallel tell each other.
 *
 * Members are nodes that might be one; a group is members that have in common
 * what they must.  parallel_rules.c says what that is, parallel_ranks.c which
 * members depend on others, parallel_cost.c whether one node would be faster,
 * and parallel_join.c makes it.
 */

#ifndef PASSES_GRAPH_PARALLEL_H
#define PASSES_GRAPH_PARALLEL_H

#include "glow/build.h"
#include "glow/pass.h"

enum { PARALLEL_OPERANDS = 3, PARALLEL_SHARED = -1, PARALLEL_LAST = -2 };

/* One way in which nodes of an operator can be put together. */
typedef struct parallel_rule {
    const glow_op *op;
    int axis[PARALLEL_OPERANDS];      /* that each operand is joined along, or
                                    PARALLEL_SHARED */
    int out;                          /* the axis of Result, or PARALLEL_LAST */
    bool (*fits)(const glow_node *n); /* NULL: always */
} parallel_rule;

typedef struct parallel_member {
    glow_node *node;
    const parallel_rule *rule;
    uint64_t key;  /* of all that must be equal */
    int64_t place; /* in the function */
    int64_t rank;
} parallel_member;

/* The rule for `n` behind `r`, or the first one behind NULL; NULL: no more. */
const parallel_rule *parallel_next_rule(const parallel_rule *r,
                                        const glow_node *n);
/* The axis of the result along which parts lie. */
int parallel_axis(const parallel_rule *r, const glow_node *n);
/* A number that is the same for nodes that are alike. */
uint64_t parallel_key(const parallel_rule *r, const glow_node *n);
/* Do two nodes have in common what they must? */
bool parallel_alike(const parallel_rule *r, const glow_node *x,
                    const glow_node *y);

typedef struct parallel_ranks parallel_ranks;

/* For a function that gets at most `more` nodes before the last question. */
parallel_ranks *parallel_ranks_new(glow_arena *a, const glow_func *f,
                                   size_t more);
/* Ranks members, of whatever groups: members of one rank do not depend on each
   other, nor does a cycle come about when they are combined. */
void parallel_rank(parallel_ranks *r, parallel_member *m, size_t count);

/* Would one node instead of all members take less time? */
bool parallel_pays(glow_pass_run *run, const parallel_member *m, size_t count);

/* Puts one node and slices of it in the place of all members; false after a
   report. */
bool parallel_join(glow_builder *b, const parallel_member *m, size_t count);

#endif

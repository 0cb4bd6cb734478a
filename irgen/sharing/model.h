/*
 * Memory model of a graph: the tasks and buffers of the ordering problem of its
 * nodes (glow/order.h).
 *
 * A program has fewer buffers after the passes of optimize-program than the graph
 * has results.  The model predicts them:
 *
 *   views      a Reshape, and a Slice with positive steps, is a view of its operand;
 *              a Copy shares the buffer of its operand
 *   outputs    the operand of a Save is computed in the placeholder, unless a node
 *              reads the placeholder meanwhile
 *   in place   a result takes the buffer of an operand that is dead after the node,
 *              as the operator allows (in-place pairs)
 *   parts      the operands of a Concat, and Small of an InsertTensor, are computed
 *              in their parts of the result
 *
 * Backends decide about layouts with strides.  In an open order, sharing that
 * holds in every order merges buffers, and an in-place update that depends on the
 * order is an alias.  In a given order, the passes themselves decide (replay.c).
 * Sizes are multiples of the alignment of alloc.
 */

#ifndef IRGEN_SHARING_MODEL_H
#define IRGEN_SHARING_MODEL_H

#include "glow/schedule.h"
#include "irgen/sharing/graph.h"
#include "irgen/sharing/precedence.h"

typedef struct glow_memory_options {
    int64_t align;
    glow_sharing sharing;
    const bool *apart;     /* by operand: keep it a copy; NULL: none */
    const uint32_t *order; /* the given order of nodes; NULL: open */
} glow_memory_options;

typedef struct glow_memory_model {
    const glow_values *values;
    glow_graph_table *table;
    glow_ranks *ranks;          /* NULL: the order is given */
    glow_order_problem problem; /* task i is values->nodes[i] */
    uint32_t *buffer; /* by value: buffer of the problem, or GLOW_NO_VALUE */
    const glow_value **called; /* by buffer: the result that names it */
    uint32_t *operand;         /* by node: the number of its operand 0 */
    uint32_t n_operands;
    bool *shares; /* by operand: it is a part of the result of its concat or
                     insert, or its slice is a view of it */
} glow_memory_model;

/* NULL if there is no order, or the bytes of a buffer cannot be counted. */
glow_memory_model *glow_memory_model_new(glow_pass_run *run, glow_func *f,
                                         const glow_values *v,
                                         const glow_memory_options *options);

/*
 * Sets *out to the problem whose optimum is a lower bound on the peak memory of
 * every order of the graph, and *maker, by buffer, to the node that computes its
 * elements; see lower_bound.c.  False as above.
 */
bool glow_memory_least(glow_pass_run *run, glow_func *f, const glow_values *v,
                       int64_t align, glow_order_problem *out,
                       const uint32_t **maker);

/* The files of the model. */

/* Sets the tasks and their predecessors: def-use edges and anti-dependences. */
void glow_memory_waits(glow_memory_model *m, glow_arena *a);
/* Runs the passes that share buffers on the table, whose order is given. */
void glow_memory_replay(glow_memory_model *m);
/* Sets the buffers, and the buffers that tasks touch, from the table; false if a
   size overflows. */
bool glow_memory_problem(glow_memory_model *m, const glow_memory_options *o);

/* Sets *out to `bytes` rounded up to a multiple of `align`; false if that
   overflows. */
bool glow_memory_round(int64_t bytes, int64_t align, int64_t *out);

/* `order`, with each node that is no instruction right before its first user. */
uint32_t *glow_memory_sink(const glow_memory_model *m, const uint32_t *order);

/*
 * True if `n` may compute result `out` in the buffer of operand `k`, provided
 * that it is the last user of the operand.  Sets *made to the part of the result,
 * *over to that of the operand.
 */
bool glow_memory_in_place(const glow_memory_model *m, const glow_node *n,
                          int out, int k, glow_part *made, glow_part *over);

#endif

/*
 * What memory a graph will take: the tasks and buffers that the order of its
 * nodes decides about (glow/order.h).
 *
 * A program that the passes of optimize-program have worked on has fewer
 * buffers than the graph has results.  The model says the same beforehand:
 *
 *   views      a reshape, and a slice that goes forward, is read where its operand
 *              lies; a copy is what is copied
 *   outputs    what is saved is computed in the placeholder, unless somebody
 *              reads the placeholder meanwhile
 *   in place   a result takes the bytes of an operand that is needed no more, as
 *              the operator allows
 *   parts      the operands of a concat, and what is inserted, are computed in
 *              their parts of it
 *
 * Backends are asked where elements then do not lie side by side.  If the order
 * is open, what holds in every order is put into one buffer, and where it
 * depends on the order who works in place, that decides (aliases).  In an order
 * that is given, the passes themselves decide (replay.c).  Sizes are multiples of what
 * alloc rounds to.
 */

#ifndef IRGEN_SHARING_MODEL_H
#define IRGEN_SHARING_MODEL_H

#include "glow/schedule.h"
#include "irgen/sharing/graph.h"
#include "irgen/sharing/precedence.h"

typedef struct glow_memory_options {
    int64_t align;
    glow_sharing sharing;
    const bool *apart;     /* by operand: it is copied; NULL: none */
    const uint32_t *order; /* of the nodes, as it will be; NULL: open */
} glow_memory_options;

typedef struct glow_memory_model {
    const glow_values *values;
    glow_graph_table *table;
    glow_ranks *ranks;          /* NULL: the order is given */
    glow_order_problem problem; /* task i is values->nodes[i] */
    uint32_t *buffer; /* by value: that of the problem, or GLOW_NO_VALUE */
    const glow_value **called; /* by buffer: the result to name it by */
    uint32_t *operand;         /* by node: the number of its operand 0 */
    uint32_t n_operands;
    bool *shares; /* by operand: it lies in its concat or insert, or what is cut
                     out of it lies in it */
} glow_memory_model;

/* NULL if there is no order, or the bytes of a buffer cannot be counted. */
glow_memory_model *glow_memory_model_new(glow_pass_run *run, glow_func *f,
                                         const glow_values *v,
                                         const glow_memory_options *options);

/*
 * What no order of the graph takes less than, whatever is joined or copied: see
 * lower_bound.c.  False as above.
 */
bool glow_memory_least(glow_pass_run *run, glow_func *f, const glow_values *v,
                       int64_t align, glow_order_problem *out);

/* The files of the model. */

/* The tasks, and what they wait for. */
void glow_memory_waits(glow_memory_model *m, glow_arena *a);
/* Runs the passes that share buffers on the table, whose order is given. */
void glow_memory_replay(glow_memory_model *m);
/* Sets buffers and tasks from the table; false if a size overflows. */
bool glow_memory_problem(glow_memory_model *m, const glow_memory_options *o);

/* `bytes` up to the next multiple of `align`; false if that overflows. */
bool glow_memory_round(int64_t bytes, int64_t align, int64_t *out);

/* `order`, in which what only names bytes runs right before who needs it first. */
uint32_t *glow_memory_sink(const glow_memory_model *m, const uint32_t *order);

/*
 * May `n` compute result `out` where operand `k` lies, if it is the last to use
 * that?  Sets where both lie.
 */
bool glow_memory_in_place(const glow_memory_model *m, const glow_node *n,
                          int out, int k, glow_part *made, glow_part *over);

#endif

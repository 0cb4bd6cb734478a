/*
 * The access table of a graph.
 *
 * Each result is an alloc, each storage a placeholder or constant, a Reshape a
 * view, and a Save a copy, as irgen makes them.  Steps are in the given order.
 * For an open order that is any topological one, and no rule may use their ranks.
 */

#ifndef IRGEN_SHARING_GRAPH_H
#define IRGEN_SHARING_GRAPH_H

#include "irgen/sharing/accesses.h"
#include "irgen/values.h"

typedef struct glow_graph_table {
    glow_accesses *x;
    glow_func *f;
    const glow_values *v;
    uint32_t *value;   /* by value of the graph: value of the table */
    glow_map *stored;  /* by name of storage: its value (one uint32_t) */
    uint32_t n_stored; /* the number of storages; they are buffers 0, 1, ... */
    uint32_t *step;    /* by node: its step, removed if it is a view */
    uint32_t *latest;  /* by buffer: `own` of the last buffer moved into it, if
                         the accesses of that run after all others, or
                         GLOW_NONE */
    bool *is_mixed;    /* by buffer: another buffer was moved into it */
} glow_graph_table;

glow_graph_table *glow_table_of_graph(glow_pass_run *run, glow_func *f,
                                      const glow_values *v,
                                      const uint32_t *order);

/* Sets *out to the part of a value of the graph; false if it is not expressible or
   has no elements. */
bool glow_table_find(const glow_graph_table *t, const glow_value *v,
                     glow_part *out);
/* The value of the table for `v`, or for the result that `v` is a view of;
   GLOW_NONE if that is storage. */
uint32_t glow_table_base(const glow_graph_table *t, const glow_value *v);
/* The storage that part `p` belongs to; NULL: an alloc. */
const glow_storage *glow_table_storage(const glow_graph_table *t,
                                       const glow_part *p);
/* True if `p` is a whole alloc. */
bool glow_table_is_all(const glow_graph_table *t, const glow_part *p);

/* True if node `i` is no instruction, but a view or removed. */
bool glow_table_is_gone(const glow_graph_table *t, uint32_t i);
/* Removes the step of node `i`. */
void glow_table_drop(const glow_graph_table *t, uint32_t i);

/* Calls `fn` with each node that accesses the buffer, some twice, until it returns
   false; false if it did, or if there are more than GLOW_MOST_ACCESSES. */
typedef bool (*glow_toucher_fn)(void *user, uint32_t node);
bool glow_table_each(const glow_graph_table *t, uint32_t buffer,
                     glow_toucher_fn fn, void *user);
/* The same for the nodes that may be last: leaves out accesses that are known to
   precede all of the buffer that was moved in last (`latest`). */
bool glow_table_each_late(const glow_graph_table *t, uint32_t buffer,
                          glow_toucher_fn fn, void *user);

/* As glow_can_use, without the step of node `but`; a dense part only has to have
   as many elements. */
bool glow_table_can_move(const glow_graph_table *t, uint32_t buffer,
                         const glow_part *to, uint32_t but);
/* As glow_could_use: steps that only move elements are not checked, because they
   may be removed. */
bool glow_table_could_move(const glow_graph_table *t, uint32_t buffer,
                           const glow_part *to);
/* Moves the values of the buffer to the part `to`. */
void glow_table_move(const glow_graph_table *t, uint32_t buffer,
                     const glow_part *to);

#endif

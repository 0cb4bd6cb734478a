/*
 * The access table of a graph.
 *
 * Each result is an alloc, each storage a placeholder or constant, a Reshape a view,
 * and a Save a copy, as irgen does it.  Steps are in the order that is given, or if
 * that is open, in that of the function: then no rule may ask for their ranks.
 */

#ifndef IRGEN_SHARING_GRAPH_H
#define IRGEN_SHARING_GRAPH_H

#include "irgen/sharing/accesses.h"
#include "irgen/values.h"

typedef struct glow_graph_table {
    glow_accesses *x;
    glow_func *f;
    const glow_values *v;
    uint32_t *value;   /* by value of the graph: that of the table */
    glow_map *stored;  /* by name of storage: its value, an array of one */
    uint32_t n_stored; /* the buffers below are storage */
    uint32_t *step;    /* by node; that of a view is gone */
    uint32_t *latest; /* by buffer: the own value of the buffer that moved there
                          last, if its accesses run after all others, or
                          GLOW_NONE */
    bool *is_mixed;   /* by buffer: another one has moved there */
} glow_graph_table;

glow_graph_table *glow_table_of_graph(glow_pass_run *run, glow_func *f,
                                      const glow_values *v,
                                      const uint32_t *order);

/* The place of a value of the graph; false if it is not expressible. */
bool glow_table_find(const glow_graph_table *t, const glow_value *v,
                     glow_part *out);
/* The number in the table of a value, or of the result that it is a view of;
   GLOW_NONE: it is a view of storage. */
uint32_t glow_table_base(const glow_graph_table *t, const glow_value *v);
/* The storage that a part is in, or NULL. */
const glow_storage *glow_table_storage(const glow_graph_table *t,
                                       const glow_part *p);
/* True for all of an alloc. */
bool glow_table_is_all(const glow_graph_table *t, const glow_part *p);

/* True if node `i` is no instruction: it only names bytes. */
bool glow_table_is_gone(const glow_graph_table *t, uint32_t i);
void glow_table_drop(const glow_graph_table *t, uint32_t i);

/* Calls `fn` with each node that accesses the buffer, some twice, until it returns
   false; false if it did, or if there are too many. */
typedef bool (*glow_toucher_fn)(void *user, uint32_t node);
bool glow_table_each(const glow_graph_table *t, uint32_t buffer,
                     glow_toucher_fn fn, void *user);
/* The same for those that no other is known to run after. */
bool glow_table_each_late(const glow_graph_table *t, uint32_t buffer,
                          glow_toucher_fn fn, void *user);

/* glow_can_use, where a dense part is not asked about. */
bool glow_table_can_lie(const glow_graph_table *t, uint32_t buffer,
                        const glow_part *to, uint32_t but);
/* The same, but steps that only move elements, and may go, are not asked. */
bool glow_table_could_lie(const glow_graph_table *t, uint32_t buffer,
                          const glow_part *to);
/* Moves the buffer. */
void glow_table_lie(const glow_graph_table *t, uint32_t buffer,
                    const glow_part *to);

#endif

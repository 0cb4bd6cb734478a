/*
 * Data of the lower bound on peak memory: atoms, and the buffers that own them;
 * see lower_bound.c.
 */

#ifndef IRGEN_SHARING_LOWER_BOUND_H
#define IRGEN_SHARING_LOWER_BOUND_H

#include "irgen/sharing/share.h"

/* The atoms of a buffer. */
typedef struct glow_made {
    uint32_t own;   /* its own atom, or GLOW_NO_VALUE */
    uint32_t cuts;  /* list of the atoms cut out of it, or GLOW_NO_VALUE */
    uint32_t *more; /* atoms of the buffers that are parts of it */
    uint32_t n_more;
    bool is_free; /* may be in a placeholder: counts no bytes */
    bool is_part; /* may be a part, or have parts: its size is not rounded */
    bool is_late; /* its bytes count from its first user on */
} glow_made;

typedef struct glow_ground {
    glow_memory_model *m; /* with outputs and copies shared, but no parts */
    glow_graph_table *t;
    glow_sharer *s;
    int64_t align;
    glow_made *of; /* by buffer */
    bool *is_view; /* by node: a slice that may become a view */
    bool *may_be;  /* by operand: it may be computed in the result */
    glow_order_buffer *atoms;
    uint32_t *next; /* by atom: the next one cut out of the same buffer */
    const glow_node **cutter; /* by atom that is cut out: the slice */
    uint32_t *maker;          /* by atom: the node that computes its elements */
    size_t n_atoms, cap_atoms, cap_next, cap_cutter, cap_maker;
    uint32_t *list; /* atoms that tasks touch, one task after the other */
    size_t count, cap;
    glow_order_alias *aliases;
    size_t n_aliases, cap_aliases;
    uint32_t *stamp; /* by atom: 1 + the last node that touches it */
} glow_ground;

/* The atoms of the buffer of value `v`; NULL: it is in storage. */
glow_made *glow_made_of(const glow_ground *g, const glow_value *v);

/* True if result 0 of node `i` may have parts: a concat, or an insert whose Small
   may be computed in place. */
bool glow_has_parts(const glow_ground *g, uint32_t i);

/* Sets *out to an ordering problem whose optimum is a lower bound on peak memory,
   for all orders and all choices of parts, and *maker to the node that computes
   each of its buffers; false if a size overflows.  In the model only outputs and
   copies are shared so far. */
bool glow_memory_floor(glow_memory_model *m, glow_sharer *s, int64_t align,
                       glow_order_problem *out, const uint32_t **maker);

/* Makes the atoms of all buffers; false if a size overflows. */
bool glow_make_atoms(glow_ground *g);

#endif

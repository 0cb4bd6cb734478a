/*
 * The atoms of lower_bound.c, and what they belong to.
 */

#ifndef IRGEN_SHARING_LOWER_BOUND_H
#define IRGEN_SHARING_LOWER_BOUND_H

#include "irgen/sharing/share.h"

/* What is known of a buffer. */
typedef struct glow_made {
    uint32_t own;   /* its own atom, or GLOW_NO_VALUE */
    uint32_t cuts;  /* the first atom cut out of it, or GLOW_NO_VALUE */
    uint32_t *more; /* of what it has parts of */
    uint32_t n_more;
    bool is_free; /* it may lie in a placeholder */
    bool is_part; /* it may be one, or have parts: its size is not rounded */
    bool is_late; /* it counts from its first user on */
} glow_made;

typedef struct glow_ground {
    glow_memory_model *m; /* without parts: outputs and copies */
    glow_graph_table *t;
    glow_sharer *s;
    int64_t align;
    glow_made *of; /* by buffer */
    bool *is_view; /* by node: a slice that may be no instruction */
    bool *may_be;  /* by operand: it may be computed in the result */
    glow_order_buffer *atoms;
    uint32_t *next;           /* by atom: the next cut out of the same buffer */
    const glow_node **cutter; /* by atom that is cut out: the slice */
    size_t n_atoms, cap_atoms, cap_next, cap_cutter;
    uint32_t *list; /* what tasks touch, one after the other */
    size_t count, cap;
    glow_order_alias *aliases;
    size_t n_aliases, cap_aliases;
    uint32_t *stamp; /* by atom: 1 + the last node that touches it */
} glow_ground;

/* What is known of the buffer of a value; NULL: it lies in storage anyway. */
glow_made *glow_made_of(const glow_ground *g, const glow_value *v);

/* May result 0 of node `i` have parts? */
bool glow_has_parts(const glow_ground *g, uint32_t i);

/* What no order and no choice of parts takes less than; false if a size overflows.
   The model has its outputs shared alone. */
bool glow_memory_floor(glow_memory_model *m, glow_sharer *s, int64_t align,
                       glow_order_problem *out);

/* The atoms of all buffers; false if a size overflows. */
bool glow_make_atoms(glow_ground *g);

#endif

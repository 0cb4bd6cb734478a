/*
 * Doing a node for a part of its result.
 *
 * A slab is a range of a tensor along one axis.  A rule says for an operator
 * which slabs of its operands a slab of the result needs: the same rows, or
 * columns, of one or of each operand, most often.  A window needs what it
 * reaches over, its halo, and of the padding only what is at that end: slabs in
 * the middle have none.  A convolution in groups is cut between groups.  What
 * no rule says stays whole, as do nodes with several results or a predicate.
 */

#ifndef PASSES_GRAPH_SLABS_H
#define PASSES_GRAPH_SLABS_H

#include "glow/build.h"

/* Elements `start` to `start + size` of an axis; axis WHOLE: everything. */
typedef struct slab {
    int axis;
    int64_t start, size;
} slab;

enum {
    WHOLE = -1,
    SLAB_ROOM = 4 /* rules may set so many operands that are not there */
};

/* Is there a rule for this node? */
bool slab_can_cut(const glow_node *n);

/* Room for the attributes of a part of `n`; NULL if it has none. */
void *slab_attrs(glow_arena *a, const glow_node *n);

/*
 * Sets which slab of each operand slab `r` of the only result needs; there is
 * room for SLAB_ROOM more.  `attrs`, of slab_attrs, become those of the part.
 * False if it cannot be had by itself.
 */
bool slab_needs(const glow_node *n, slab r, slab in[], void *attrs);

/* The type, and the bytes, of a slab of a tensor. */
const glow_type *slab_type(glow_context *ctx, const glow_type *t, slab r);
int64_t slab_bytes(const glow_type *t, slab r);

/* Cuts a slab out of a value; the value itself where that is all of it. */
glow_value *slab_take(glow_builder *b, glow_value *v, slab r);

/* Computes slab `r` of the result of `n` from parts of its operands. */
glow_value *slab_build(glow_builder *b, const glow_node *n, slab r,
                       glow_value *const *in, const void *attrs);

#endif

/*
 * Computing a node for a slab of its result.
 *
 * A slab is a range of a tensor along one axis.  A rule for an operator gives
 * the slabs of its operands that a slab of the result needs: most often the
 * same rows, or columns, of one or of each operand.  A window needs a halo, and
 * padding only at the ends of the axis: slabs in the middle have none.  A
 * grouped convolution is cut between groups.  Nodes without a rule, with
 * several results or with a predicate are not cut.
 */

#ifndef PASSES_GRAPH_COMMON_SLABS_H
#define PASSES_GRAPH_COMMON_SLABS_H

#include "glow/build.h"

/* Elements `start` to `start + size` of an axis; axis WHOLE: everything. */
typedef struct slab {
    int axis;
    int64_t start, size;
} slab;

enum {
    WHOLE = -1,
    SLAB_ROOM = 4 /* rules may set entries of so many missing operands */
};

/* True if there is a rule for this node. */
bool glow_slab_can_cut(const glow_node *n);

/* Allocates the attributes of a slab of `n`; NULL if it has none. */
void *glow_slab_attrs(glow_arena *a, const glow_node *n);

/*
 * Sets in[i] to the slab of operand `i` that slab `r` of the only result needs;
 * `in` must have SLAB_ROOM additional entries.  Sets `attrs`, of glow_slab_attrs.
 * False if the slab cannot be computed separately.
 */
bool glow_slab_needs(const glow_node *n, slab r, slab in[], void *attrs);

/* The type, and the bytes, of a slab of a tensor. */
const glow_type *glow_slab_type(glow_context *ctx, const glow_type *t, slab r);
int64_t glow_slab_bytes(const glow_type *t, slab r);

/* A slice for slab `r` of `v`; returns `v` if it is all of it. */
glow_value *glow_slab_take(glow_builder *b, glow_value *v, slab r);

/* Builds slab `r` of the result of `n` from the slabs of its operands. */
glow_value *glow_slab_build(glow_builder *b, const glow_node *n, slab r,
                            glow_value *const *in, const void *attrs);

#endif

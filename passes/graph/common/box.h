/* Boxes of tensors: the elements that a Slice reads. */

#ifndef PASSES_GRAPH_COMMON_BOX_H
#define PASSES_GRAPH_COMMON_BOX_H

#include "glow/build.h"

/*
 * On each axis, `size` elements from `start` on, by `step`, which may be
 * negative.
 */
typedef struct box {
    glow_dims start, step, size;
} box;

/* The least and the greatest index of the box on an axis. */
int64_t glow_box_least(const box *p, int axis);
int64_t glow_box_last(const box *p, int axis);

/* All `dim` elements of an axis, in order. */
bool glow_box_is_whole(const box *p, int axis, int64_t dim);

/* All elements of a tensor of this shape, in order. */
bool glow_box_is_all(const box *p, glow_dims shape);

/* The box of a Slice that is not empty; an axis of one element has step 1. */
box glow_box_of(const glow_node *slice);

/* The box `p` of `v`: `v`, or a Slice. */
glow_value *glow_box_take(glow_builder *b, glow_value *v, const box *p);

/* Relation of a box to another box in the same tensor, on all axes. */
typedef struct box_relation {
    bool inside, outside, by_one; /* by_one: all steps are 1 */
} box_relation;

/* The relation of `p` to the box of `shape` from `at` on. */
box_relation glow_box_relate(const box *p, glow_dims at, glow_dims shape);

/* The box `p`, relative to a tensor that begins at `at`. */
box glow_box_moved(box p, glow_dims at);

#endif

/*
 * Layouts of slices: the location of the elements of a slice of a tensor, or of a
 * tensor that is stored within another one.
 *
 * Offsets are counted in elements from the first element of the container, in
 * memory order.  A dense layout has no strides.
 */

#ifndef GLOW_LAYOUT_H
#define GLOW_LAYOUT_H

#include "glow/type.h"

GLOW_BEGIN

/* Distance in memory between neighbours along each axis, dense or strided. */
GLOW_API glow_dims glow_type_steps(const glow_type *t);

/* Is no step below 0?  None are, of rank 0. */
GLOW_API bool glow_steps_forward(glow_dims steps);

/*
 * The elements start, start + steps, ... of `t`, as many as `shape` has on each
 * axis; *first, the place of t's first element, becomes that of theirs.  `steps`
 * of rank 0 are all 1; they are above 0.
 */
GLOW_API glow_type glow_type_box(const glow_type *t, glow_dims start,
                                 glow_dims steps, glow_dims shape,
                                 int64_t *first);

/*
 * Composition of layouts: a dense tensor of the shape of `in` gets the layout of
 * `in`.  A slice of it with layout *t and first element *first is updated to its
 * location in the new layout.  False, and nothing changed, if the slice is empty
 * or its elements have no regular strides.
 */
GLOW_API bool glow_type_move(const glow_type *in, glow_type *t, int64_t *first);

GLOW_END

#endif

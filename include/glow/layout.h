/*
 * Layouts of parts: where elements lie that are cut out of a tensor, or that
 * belong to a tensor that lies within another.
 *
 * Elements are counted from the first of what they lie in, as it lies in memory.
 * A layout that is dense has no strides.
 */

#ifndef GLOW_LAYOUT_H
#define GLOW_LAYOUT_H

#include "glow/type.h"

GLOW_BEGIN

/* What one more along each axis adds to the place: strides, dense or not. */
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
 * A dense tensor of the shape of `in` comes to lie as `in` does.  What lay in it
 * as *t, from its element *first on, then lies there at the place that *first
 * becomes, as *t becomes.  False, and nothing changed, if it has no elements, or
 * they do not lie at regular steps.
 */
GLOW_API bool glow_type_move(const glow_type *in, glow_type *t, int64_t *first);

GLOW_END

#endif

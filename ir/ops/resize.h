/*
 * Where the elements of a resized axis come from: said once, for `eval` and for
 * the backends that put it into tables.
 */

#ifndef IR_OPS_RESIZE_H
#define IR_OPS_RESIZE_H

#include "glow/ops.h"

/* True if axis `axis` of shape x, resized to y, is not what it was. */
bool glow_is_resized(const glow_resize *r, glow_dims x, glow_dims y, int axis);

/* Where element `i` of that axis of y lies in x, held within it. */
double glow_resize_at(const glow_resize *r, glow_dims x, glow_dims y, int axis,
                      int64_t i);
/* The element of x nearest to that. */
int64_t glow_resize_nearest(const glow_resize *r, glow_dims x, glow_dims y,
                            int axis, int64_t i);

#endif

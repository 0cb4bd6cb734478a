/*
 * Source positions of the elements of a resized axis, for `eval` and for the
 * backends that put them into tables.
 */

#ifndef IR_OPS_RESIZE_H
#define IR_OPS_RESIZE_H

#include "glow/ops.h"

/*
 * The words of Coordinates (all; those of ResizeNearest and ResizeBilinear),
 * and of Rounding.
 */
extern const char *const glow_coordinate_words[];
extern const char *const glow_grid_coordinate_words[];
extern const char *const glow_rounding_words[];

/*
 * Checks what is stated against Input of one of `classes`, and gives it.  The
 * scales are positive numbers, one for each axis.
 */
bool glow_resize_check(const glow_node *n, glow_floats scale, int classes,
                       glow_type *out);

/*
 * The source position of element `i` of an axis, by any rule but
 * tf_crop_and_resize.
 */
double glow_grid_at(int coordinates, double scale, int64_t i, int64_t in,
                    int64_t out);
double glow_grid_round(double x, int rounding);
/*
 * The same, rounded to an element.  The quotient by the scale is rounded to float first:
 * a position that is whole by the exact scale is so by that of a float.
 */
double glow_grid_nearest(int coordinates, int rounding, double scale, int64_t i,
                         int64_t in, int64_t out);

/*
 * True if the elements of axis `axis` of shape x change when it is resized to
 * y.
 */
bool glow_is_resized(const glow_grid *r, glow_dims x, glow_dims y, int axis);

/*
 * The source position in x, clamped to it, of element `i` of axis `axis` of y.
 */
double glow_resize_at(const glow_grid *r, glow_dims x, glow_dims y, int axis,
                      int64_t i);
/* The element of x nearest to this position. */
int64_t glow_resize_nearest(const glow_grid *r, glow_dims x, glow_dims y,
                            int axis, int64_t i);

#endif

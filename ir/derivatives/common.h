/* Building blocks of rules: arithmetic, numbers, axes. */

#ifndef IR_DERIVATIVES_COMMON_H
#define IR_DERIVATIVES_COMMON_H

#include "glow/arith.h"
#include "glow/derivative.h"
#include "glow/ops.h"

/* All elements of the type of `like` are `v`. */
glow_value *glow_grad_number(glow_builder *b, const glow_value *like, double v);
/* v * x, v + x and v - x for a number v. */
glow_value *glow_grad_times(glow_builder *b, double v, glow_value *x);
glow_value *glow_grad_plus(glow_builder *b, double v, glow_value *x);
glow_value *glow_grad_from(glow_builder *b, double v, glow_value *x);

/* Bool: x < y, x == y, and the same with a number. */
glow_value *glow_grad_below(glow_builder *b, glow_value *x, glow_value *y);
glow_value *glow_grad_equal(glow_builder *b, glow_value *x, glow_value *y);
glow_value *glow_grad_is(glow_builder *b, glow_value *x, double y);
/* `d` where `cond` holds, else 0. */
glow_value *glow_grad_where(glow_builder *b, glow_value *cond, glow_value *d);
/*
 * `product`, a product with `d`, where `d` is not 0; else 0: the other factor may be
 * infinite at the border of a domain.
 */
glow_value *glow_grad_guarded(glow_builder *b, glow_value *d,
                              glow_value *product);

glow_value *glow_grad_transpose(glow_builder *b, glow_value *v,
                                glow_dims shuffle);
/* The box of `shape` elements at `start`, with `steps` (rank 0: all 1). */
glow_value *glow_grad_slice(glow_builder *b, glow_value *v, glow_dims start,
                            glow_dims steps, glow_dims shape);
/* The sum along `axes`, ascending; `v` itself if there are none. */
glow_value *glow_grad_sum(glow_builder *b, glow_value *v, glow_dims axes);
/* `v`, which lacks the axes `axes` of `shape`, repeated along them. */
glow_value *glow_grad_repeat(glow_builder *b, glow_value *v, glow_dims axes,
                             glow_dims shape);
/* Axes `first` to `last` - 1. */
glow_dims glow_grad_axes(int first, int last);
/* A tensor of zeros of the kind of `like` and `shape`. */
glow_value *glow_grad_zeros(glow_builder *b, const glow_value *like,
                            glow_dims shape);

#endif

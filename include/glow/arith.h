/*
 * The arithmetic of rules: builders of the operators that lowerings and
 * derivatives are written in.  An operand of NULL gives NULL, as glow_build does,
 * so that formulas nest.
 */

#ifndef GLOW_ARITH_H
#define GLOW_ARITH_H

#include "glow/build.h"

GLOW_BEGIN

/* Element-wise; the operands have one shape and kind. */
GLOW_API glow_value *glow_build_add(glow_builder *b, glow_value *x,
                                    glow_value *y);
GLOW_API glow_value *glow_build_sub(glow_builder *b, glow_value *x,
                                    glow_value *y);
GLOW_API glow_value *glow_build_mul(glow_builder *b, glow_value *x,
                                    glow_value *y);
GLOW_API glow_value *glow_build_div(glow_builder *b, glow_value *x,
                                    glow_value *y);
GLOW_API glow_value *glow_build_neg(glow_builder *b, glow_value *x);
GLOW_API glow_value *glow_build_sqrt(glow_builder *b, glow_value *x);
GLOW_API glow_value *glow_build_log(glow_builder *b, glow_value *x);
/* `x` where `cond`, a bool of the same shape, holds, else `y`. */
GLOW_API glow_value *glow_build_select(glow_builder *b, glow_value *cond,
                                       glow_value *x, glow_value *y);
/* `v` reshaped to `shape`; `v` itself if it has this shape. */
GLOW_API glow_value *glow_build_reshape(glow_builder *b, glow_value *v,
                                        glow_dims shape);

GLOW_END

#endif

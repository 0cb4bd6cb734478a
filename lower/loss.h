/* Helpers of the lowering rules of losses. */

#ifndef LOWER_LOSS_H
#define LOWER_LOSS_H

#include "lower/common.h"

/* The sum of all elements, of rank 0. */
glow_value *glow_lower_sum(glow_builder *b, glow_value *v);
/*
 * index64 numbers by which Gather takes the class of each target, of `classes`: targets
 * below 0 become `classes`, which Gather refuses, since it counts others from the end.
 */
glow_value *glow_lower_class(glow_builder *b, glow_value *target,
                             int64_t classes);
/*
 * The losses `v` after a GLOW_LOSS_... reduction; the mean is their sum divided
 * by the sum of `weights`, or by their number if `weights` is NULL.
 */
glow_value *glow_lower_loss(glow_builder *b, glow_value *v, glow_value *weights,
                            int reduction);

#endif

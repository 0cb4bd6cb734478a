/* Scales and offsets of QuantizeLinear and DequantizeLinear, for each element. */

#ifndef LOWER_QUANTIZELINEAR_H
#define LOWER_QUANTIZELINEAR_H

#include "lower/common.h"

/*
 * The scale or offset `v` of each element of `shape`: `v` is one number, a list
 * along `axis`, or, if `block` is not 0, has a number for each block of `axis`.
 */
glow_value *glow_lower_scales(glow_builder *b, glow_value *v, int axis,
                              int64_t block, glow_dims shape);

#endif

/* Helpers of lowering rules of quantized products. */

#ifndef LOWER_QUANTIZEDPRODUCT_H
#define LOWER_QUANTIZEDPRODUCT_H

#include "lower/common.h"

/* Constants of `count` floats, or of index32, all `v`. */
glow_value *glow_lower_channel_scales(glow_builder *b, const char *suffix,
                                      int64_t count, float v);
glow_value *glow_lower_channel_offsets(glow_builder *b, const char *suffix,
                                       int64_t count, int32_t v);
/* The float of the product of the scales of operands 0 and 1. */
float glow_lower_unit(const glow_node *n);
/*
 * `bias` as i32[S:unit O:0]: 0 if it is NULL, itself if it has this type, else
 * rescaled.
 */
glow_value *glow_lower_bias(glow_builder *b, glow_value *bias, int64_t count,
                            float unit);
/*
 * DynamicQuantizedFullyConnected, with `scales` and `offsets` of the columns of
 * Weights, or NULL for those of its type.
 */
glow_value *glow_lower_dynamic(glow_builder *b, const glow_node *n,
                               glow_value *scales, glow_value *offsets);

#endif

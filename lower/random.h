/* Helpers of the lowering rules of random operators. */

#ifndef LOWER_RANDOM_H
#define LOWER_RANDOM_H

#include "lower/common.h"

/*
 * The result of a node without operands (or whose operands do not matter), as a
 * constant: the generator runs once, at compile time.
 */
glow_value *glow_lower_random_constant(glow_builder *b, const glow_node *n);
/* float64 numbers in [0, 1), from the sequence of `seed`. */
glow_value *glow_lower_random_uniform(glow_builder *b, glow_dims shape,
                                      int64_t seed);

#endif

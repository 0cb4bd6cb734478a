/* Weights of 8 or 4 bits in blocks, in elementary operators. */

#ifndef LOWER_BLOCKS_H
#define LOWER_BLOCKS_H

#include "lower/common.h"

/*
 * Floats [N, depth] of `kind` for the weights, scales and offsets (NULL: omitted) of a
 * BlockwiseDequantize or BlockwiseQuantizedFullyConnected at in[0] to in[2].  NULL if
 * the builder has failed.
 */
glow_value *glow_lower_blocks(glow_builder *b, glow_value *const in[], int bits,
                              int64_t depth, glow_kind kind);

#endif

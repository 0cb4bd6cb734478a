/* Products by weights that are dequantized in blocks. */

#ifndef PASSES_GRAPH_COMMON_BLOCKS_H
#define PASSES_GRAPH_COMMON_BLOCKS_H

#include "glow/pass.h"

/*
 * The BlockwiseQuantizedFullyConnected that `n` is, a MatMul or FullyConnected by a
 * DequantizeLinear of constants of 8 or 4 bits with BlockSize along the depth, or by
 * the transpose of one.  NULL if `n` is something else.
 */
glow_value *glow_recognize_blocks(glow_builder *b, glow_node *n);

#endif

/*
 * Properties of nodes for tiling: results that are read back from memory, and
 * results without a buffer.
 */

#ifndef PASSES_GRAPH_COMMON_TILES_H
#define PASSES_GRAPH_COMMON_TILES_H

#include "glow/graph.h"

/* True for a view, and for a splat, which backends fill in where it is read. */
bool glow_tile_is_free(const glow_node *n);

/*
 * True if all users are element-wise, so that backends fuse the node with them.
 */
bool glow_tile_is_stacked_on(const glow_node *n);

/*
 * True if the result is larger than the cache, and has users other than fused
 * element-wise nodes and the Concat in whose buffer it is computed.
 */
bool glow_tile_is_far(const glow_node *n, int64_t cache);

/* True for a Concat of rows, as bands are joined by. */
bool glow_tile_joins_rows(const glow_node *n);

/* Bytes of the constants that `n` reads. */
int64_t glow_tile_constants(const glow_node *n);

#endif

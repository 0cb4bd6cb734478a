/*
 * What a pass that cuts nodes in tiles has to know of them: which results come back
 * from memory, and what takes none.
 */

#ifndef PASSES_GRAPH_TILES_H
#define PASSES_GRAPH_TILES_H

#include "glow/graph.h"

/* A view, or numbers that backends fill in where they are read. */
bool tile_is_free(const glow_node *n);

/* Do all users work on each element by itself?  Backends compute what they read in
   registers. */
bool tile_is_stacked_on(const glow_node *n);

/* Is its result larger than the cache, and of use to others than stacks, and the
   Concat that it is computed in? */
bool tile_is_far(const glow_node *n, int64_t cache);

/* Is it a Concat of rows?  Bands are put together by one. */
bool tile_joins_rows(const glow_node *n);

/* Bytes of the constants that it reads. */
int64_t tile_constants(const glow_node *n);

#endif

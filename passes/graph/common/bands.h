/*
 * Tiling of chains of nodes by bands of rows of the last result (depth-first
 * execution, with overlapped tiles).
 *
 * A chain is a contiguous part of an order of nodes in which every result but
 * the last one is used only in the chain.  For a band of the last result the
 * rules of slabs.h give, from the end back, the slab of each result that is
 * needed: the least slab that contains the needs of all users.  Windows overlap
 * with the next band, and the overlap is computed twice.  A result that some
 * user needs whole, or that no rule can cut, is computed once, as a whole.
 *
 *     conv 3x3, rows 0 to 5    rows 0 to 4 of relu    rows 0 to 4 of pool
 *
 * All functions take time proportional to nodes times bands.
 */

#ifndef PASSES_GRAPH_COMMON_BANDS_H
#define PASSES_GRAPH_COMMON_BANDS_H

#include "passes/graph/common/slabs.h"

/* nodes[first] to nodes[end - 1] */
typedef struct chain {
    uint32_t first, end;
} chain;

typedef struct bands bands; /* tables for an order, and for the current band */

/* `nodes` are all nodes of `f`, in execution order. */
bands *glow_bands_new(glow_arena *a, const glow_func *f,
                      glow_node *const *nodes, uint32_t count);

/* The least `first` of all chains {first, end}; `end` if there is none. */
uint32_t glow_bands_begin(const bands *b, uint32_t end);

/* The number of rows of the last result; sets `*axis` to their axis. */
int64_t glow_bands_rows(const bands *b, chain c, int *axis);

typedef struct band_cost {
    int64_t bytes; /* peak of live bytes of results of the chain, the last one
                    * whole; without operands from outside */
    double flops;  /* in addition to the flops of the chain */
    int64_t parts; /* peak of live bytes of one band alone */
    int64_t count; /* of bands */
    int64_t steps; /* nodes times bands visited */
} band_cost;

typedef struct band_limits {
    int64_t bytes; /* at most */
    int64_t looks; /* size of the sample of bands, at least 3; the others are
                * assumed alike */
} band_limits;

/*
 * Sets `out` to the cost of the chain in bands of `size` rows.  False if it
 * cannot be tiled, or exceeds the limit of bytes.
 */
bool glow_bands_measure(bands *b, chain c, int64_t size, band_limits limits,
                        band_cost *out);

/*
 * After glow_bands_measure of a chain: true if its node `k` is computed in bands,
 * and not once as a whole.
 */
bool glow_bands_has_parts(const bands *b, uint32_t k);

/*
 * After glow_bands_measure of a chain: true if its bands cut the channels (the last
 * axis of the result) of a node that reads a whole operand computed in bands
 * for each of them.
 */
bool glow_bands_cut_channels(const bands *b, chain c);

/*
 * Rewrites the chain in bands, after glow_bands_measure of the same chain and all
 * its bands.  New nodes are inserted before the last one, band by band.  False
 * after a report.
 */
bool glow_bands_build(bands *b, chain c, int64_t size, glow_builder *builder);

#endif

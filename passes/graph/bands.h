/*
 * Chains of nodes done in bands: so many rows of the last result at a time.
 *
 * A chain is a piece of an order of nodes in which every result but the last
 * one is used in the piece alone.  For a band of the last result the rules of
 * slabs.h say, from the end back, which slab of each result is needed: the
 * least that holds what all of its users need, so that windows reach over into
 * the next band and what they reach over is computed again.  A result of which
 * some user needs all, or that no rule says how to cut, is computed once, as a
 * whole.
 *
 *     conv 3x3, rows 0 to 5    rows 0 to 4 of relu    rows 0 to 4 of pool
 *
 * Everything takes time in proportion to nodes by bands.
 */

#ifndef PASSES_GRAPH_BANDS_H
#define PASSES_GRAPH_BANDS_H

#include "passes/graph/slabs.h"

/* nodes[first] to nodes[end - 1] */
typedef struct chain {
    uint32_t first, end;
} chain;

typedef struct bands bands; /* tables for an order, and for the band at hand */

/* `nodes` are those of a function, in the order that they run in. */
bands *bands_new(glow_arena *a, glow_node *const *nodes, uint32_t count);

/*
 * How far back a chain that ends before `end` may begin: the least `first` of
 * all chains {first, end}.  `end` itself if there is none.
 */
uint32_t bands_begin(const bands *b, uint32_t end);

/* How many rows the last result has, and along which axis. */
int64_t bands_rows(const bands *b, chain c, int *axis);

typedef struct band_cost {
    int64_t bytes; /* the most that all results in the chain need at once, the
                      last one whole; operands from outside not counted */
    double flops;  /* more than the chain has as it is */
    int64_t parts; /* the most bytes of one band alone */
    int64_t count; /* of bands */
    int64_t steps; /* that measuring took: nodes by bands */
} band_cost;

typedef struct band_limits {
    int64_t bytes; /* at most */
    int64_t
        looks; /* at so many bands, at least 3: those between are taken to be
                      like them */
} band_limits;

/*
 * What the chain costs in bands of `size` rows.  False if it cannot be done, or
 * takes more bytes than the limit.
 */
bool bands_measure(bands *b, chain c, int64_t size, band_limits limits,
                   band_cost *out);

/*
 * After bands_measure of a chain: is node `k` of it computed in bands, and not
 * once as a whole?
 */
bool bands_has_parts(const bands *b, uint32_t k);

/*
 * After bands_measure of a chain: do its bands cut the channels of a node, the last
 * axis of its result, that reads all of what is computed for each of them?
 */
bool bands_cut_channels(const bands *b, chain c);

/*
 * Does the chain in bands, after bands_measure of the same, of all of them.
 * New nodes stand before the last one, band by band.  False after a report.
 */
bool bands_build(bands *b, chain c, int64_t size, glow_builder *builder);

#endif

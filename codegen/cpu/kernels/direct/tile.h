/*
 * The register tile of convolutions and matrix products of float: rows of input
 * times blocks of output channels, one vector each.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_TILE_H
#define CODEGEN_CPU_KERNELS_DIRECT_TILE_H

#include "codegen/cpu/kernels/direct/direct.h"

#define CPU_MOST_BLOCKS 8
#define CPU_MOST_LESS 2

/*
 * Packed floats that are subtracted from weights, and where the differences are stored, in
 * the same layout.
 */
typedef struct cpu_difference {
    cg_value minus, to;
} cpu_difference;

/*
 * For CPU_PAIRS d counts pairs, of input and of weights.  For dot products d
 * counts vectors, and a block is one output, each lane of which sums up its
 * part of the depth.
 */
typedef struct cpu_tile {
    const glow_type *type; /* of the input: a kind that is computed as float */
    int blocks;
    int lanes;
    int last; /* lanes of the last block that are channels */
    /* Lanes of the sums of the last block, where half a vector holds its channels; 0: all. */
    int last_lanes;
    int taps; /* j */
    int unit;
    int64_t depth;
    int64_t row_step, tap_row, tap_step; /* bytes */
    int64_t w_depth;                     /* bytes from one d to the next */
    int64_t w_block;
    int ahead;       /* lines of weights to prefetch for each chunk */
    int input_ahead; /* lines of input, likewise */
    int streams; /* equal parts of the depth that are read side by side, or 0 */
    cpu_numbers numbers;
    bool odd; /* the last pair is one number, or vector `tail` */
    int tail; /* lanes */
    /* Bytes from the first weights of a pair to the second; 0: packed. */
    int64_t pair_step;
    const glow_type *weights; /* type in memory, for CPU_NARROW */
    /* Floats that are subtracted from the weights, one after the other: the differences
       are the weights then. */
    cpu_difference less[CPU_MOST_LESS];
    int n_less;
} cpu_tile;

/* Addresses to prefetch from; NULL where the tile prefetches no lines. */
typedef struct cpu_ahead {
    cg_value weights, input;
} cpu_ahead;

/* True if a loop can carry the sums of `rows` x `blocks` vectors. */
bool glow_cpu_fits_tile(int64_t rows, int64_t blocks);

/* Lanes of the sums of a block. */
int glow_cpu_tile_lanes(const cpu_tile *t, int block);

/* Bytes of the weights of one i. */
int64_t glow_cpu_tile_weights(const cpu_tile *t);
/* Chunks of one i. */
int64_t glow_cpu_tile_chunks(const cpu_tile *t);
/*
 * Lines of the next `weights` bytes that each chunk prefetches, if the loop
 * over the depth runs `times` times: weights read once come from memory.
 */
int glow_cpu_tile_ahead(const cpu_tile *t, int64_t weights, int64_t times);

/*
 * Sums up over i from `first` to `last` (i64; not empty unless `guarded`) into
 * acc[row * blocks + block], which hold the initial values.  valid[row * taps +
 * j] is true for taps within the input.
 */
void glow_cpu_emit_tile(cg *g, const cpu_tile *t, int rows, const bool *valid,
                        cg_value in, cg_value w, cpu_ahead ahead,
                        cg_value first, cg_value last, bool guarded,
                        cg_value *acc);

#endif

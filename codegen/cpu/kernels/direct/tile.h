/*
 * The register tile that convolutions and matrix products of float are made of:
 * rows of input times blocks of output channels, one vector each.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_TILE_H
#define CODEGEN_CPU_KERNELS_DIRECT_TILE_H

#include "codegen/cpu/kernels/direct/direct.h"

#define CPU_MOST_BLOCKS 8

/*
 * What is summed up for each row r and channel o, over the taps (i, j) and the
 * depth d:
 *
 *     in[r * row_step + i * tap_row + j * tap_step + d] * w[i][d][j][o]
 *
 * Weights are read in the order in which they lie: for each i, chunks of `unit`
 * of the depth; in a chunk all j; then the depth within the chunk; then blocks
 * of `lanes` channels, one after the other (w_block apart).
 *
 * Where the numbers are pairs, d counts them, and so does what is in memory.  Of dot
 * products d counts vectors, and a block is one output, of which each lane sums up its
 * part of the depth.
 */
typedef struct cpu_tile {
    const glow_type *type; /* of the input: a kind that is computed as float */
    int blocks;
    int lanes;
    int last; /* lanes of the last block that there are channels for */
    int taps; /* j */
    int unit;
    int64_t depth;
    int64_t row_step, tap_row, tap_step; /* bytes */
    int64_t w_depth;                     /* bytes from one d to the next */
    int64_t w_block;
    int ahead;   /* lines to prefetch for each chunk */
    int streams; /* equal parts of the depth that are read side by side, or 0 */
    cpu_numbers numbers;
    bool
        odd; /* of the last pair there is the first alone, of a vector `tail` */
    int tail; /* lanes */
    /* Bytes from the first weights of a pair to the second; 0: packed. */
    int64_t pair_step;
    const glow_type *weights; /* as they are, of CPU_NARROW */
} cpu_tile;

/* Can so many sums go round a loop? */
bool glow_cpu_fits_tile(int64_t rows, int64_t blocks);

/* Bytes of the weights of one i. */
int64_t glow_cpu_tile_weights(const cpu_tile *t);
/* Chunks of one i. */
int64_t glow_cpu_tile_chunks(const cpu_tile *t);
/*
 * Weights that are read once come from memory: how many lines of the `weights`
 * bytes that follow each chunk is to prefetch, where the whole depth runs by
 * `times` times.
 */
int glow_cpu_tile_ahead(const cpu_tile *t, int64_t weights, int64_t times);

/*
 * Sums up over i from `first` to `last` (i64; known not to be empty unless
 * `guarded`) into acc[row * blocks + block], which hold the initial values.
 * valid[row * taps + j] says which taps lie within the input.
 * `ahead` is what will be read soon; NULL if t->ahead is 0.
 */
void glow_cpu_emit_tile(cg *g, const cpu_tile *t, int rows, const bool *valid,
                        cg_value in, cg_value w, cg_value ahead, cg_value first,
                        cg_value last, bool guarded, cg_value *acc);

#endif

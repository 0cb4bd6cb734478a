/*
 * Products of floats by constant weights of 8 or 4 bits in blocks: the layout of the
 * packed weights, and what the two kinds of loops share.
 *
 * N results are divided into panels of `vectors` * `lanes`, the last one with fewer
 * vectors.  A panel lies in one piece, in the order in which it is read:
 *
 *     for each block
 *       scales    [nr]          as they are: floats or float16
 *       offsets   [nr]          bytes, if the operator has them
 *       weights   [k][nr]       8 bits: less 128 without offsets
 *       or        [k / 8][nr]   4 bits: 8 of a result in 32 bits, the first lowest
 *       or, for dot products, of bytes b = 0 to 3 of 32 bits:
 *                 [k / 4][nr]   8 bits: weight b of 4
 *                 [k / 8][nr]   4 bits: weight b of 8 low, b + 4 high
 *
 * so one load feeds `lanes` results, and reading goes forward without a gap.  Results
 * behind the last one have weights, scales and offsets of 0.  The last block of a row
 * has its weights alone, with 4 bits and for dot products a multiple of 8.
 */

#ifndef CODEGEN_CPU_KERNELS_BLOCKS_BLOCKS_H
#define CODEGEN_CPU_KERNELS_BLOCKS_BLOCKS_H

#include "codegen/cpu/kernels/common.h"

enum {
    CPU_BLOCKS_FEW = 8, /* rows that are multiplied without floats in memory */
    CPU_BLOCKS_VECTORS = 4, /* of a panel, at most */
    CPU_BLOCKS_CHUNK = 8, /* weights of 4 bits that one load has of a result */
    CPU_BLOCKS_MATRIX_ROWS = 256, /* of a row block by tile registers */
};

typedef struct cpu_blocks {
    int64_t rows, depth, outputs;
    int64_t block; /* weights of a block */
    int64_t whole; /* blocks */
    int64_t rest;  /* weights of the block behind them, or 0 */
    int bits;
    bool offsets;
    bool digits; /* by dot products with digits of Input: digits.c */
    int scale_bytes;
    int lanes, vectors;
    int64_t panels; /* of `vectors`, and perhaps one of `last_vectors` */
    int last_vectors;
    int tile;          /* rows of a register tile */
    int64_t at_once;   /* many rows: blocks that are unpacked at once */
    int64_t row_block; /* many rows: for which they are */
    bool copies;       /* many rows: rows of Input conflict in the cache */
} cpu_blocks;

cpu_blocks glow_cpu_blocks(const cpu_target *t, const glow_node *n);

/* Weights of a block of `count` with those that pad it. */
int64_t glow_cpu_blocks_padded(const cpu_blocks *s, int64_t count);
/* Packed bytes of a block of `count` weights; of a panel. */
int64_t glow_cpu_blocks_block_bytes(const cpu_blocks *s, int vectors,
                                    int64_t count);
int64_t glow_cpu_blocks_panel_bytes(const cpu_blocks *s, int vectors);

/*
 * True if a target takes few rows by digits; then the vectors of a panel that its
 * registers hold.
 */
bool glow_cpu_blocks_has_digits(const cpu_target *t, const cpu_blocks *s);
int glow_cpu_blocks_digits_vectors(const cpu_target *t, const cpu_blocks *s);

/* Code. */

typedef struct cpu_blocks_maker {
    cpu_job *j;
    cpu_blocks s;
    int vectors;     /* of the panel at hand */
    int64_t live;    /* results of its last vector */
    cg_value column; /* its first result */
    cg_value panel;  /* its bytes */
} cpu_blocks_maker;

/* Bytes of the scales and offsets before the weights of a block. */
int64_t glow_cpu_blocks_header(const cpu_blocks_maker *m);
/*
 * Block `at` of the panel, counted from 0; vectors of its scales, of its offsets as
 * they are packed, and as floats.
 */
cg_value glow_cpu_blocks_at(const cpu_blocks_maker *m, cg_value at);
cg_value glow_cpu_blocks_scale(const cpu_blocks_maker *m, cg_value block,
                               int vector);
cg_value glow_cpu_blocks_zeros(const cpu_blocks_maker *m, cg_value block,
                               int vector);
cg_value glow_cpu_blocks_offset(const cpu_blocks_maker *m, cg_value block,
                                int vector);
/*
 * Prefetches the lines behind those of `bytes` bytes at `at`, which lie `before` bytes
 * behind others of the step: 4 KiB ahead into the L1 cache, which won 12 % over none on a
 * Zen 5, in bursts; for `halves` of a target 1 KiB ahead into the L2 cache.  A Zen 4 reads weights of 8
 * bits out of memory at 31.1 GB/s by digits so, at 31.0 without prefetches, and at 20.6 with
 * the others, which take the outstanding misses of its own prefetcher.
 */
void glow_cpu_blocks_prefetch(const cpu_blocks_maker *m, cg_value at,
                              int64_t before, int64_t bytes);
/*
 * The weights of the block, less their offsets: `chunk` of 4 bits as vectors of
 * integers; weight `i` of it, times 16^i, the last one times 1, as floats.
 */
cg_value glow_cpu_blocks_chunk(const cpu_blocks_maker *m, cg_value block,
                               cg_value chunk, int vector);
cg_value glow_cpu_blocks_nibble(const cpu_blocks_maker *m, cg_value chunk,
                                int i);
/* The factor of weight `i` of a chunk. */
double glow_cpu_blocks_power(int i);
/* Weights `k` of 8 bits, less their offsets, `zero` of them where there are some. */
cg_value glow_cpu_blocks_bytes(const cpu_blocks_maker *m, cg_value block,
                               cg_value k, int vector, cg_value zero);

/* Adds the bias to a vector of sums, and finishes it as result of `row`. */
void glow_cpu_blocks_finish(const cpu_blocks_maker *m, cg_value row,
                            int64_t row_plus, int vector, cg_value sum);

/* The scales and offsets of the block whose bytes are at `bytes`, as floats. */
typedef struct cpu_blocks_scales {
    cg_value bytes;
    cg_value scale[CPU_BLOCKS_VECTORS], zero[CPU_BLOCKS_VECTORS];
} cpu_blocks_scales;

cpu_blocks_scales glow_cpu_blocks_scales(const cpu_blocks_maker *m,
                                         cg_value bytes);
/*
 * Weights `each` * `chunk` on of vector `v`, `count` of them, as floats; `each` is
 * CPU_BLOCKS_CHUNK with 4 bits.
 */
void glow_cpu_blocks_floats(const cpu_blocks_maker *m,
                            const cpu_blocks_scales *k, cg_value chunk,
                            int each, int count, int v, cg_value *w);

/*
 * Many rows: sums of a panel in scratch, of row `row` of a row block; zeros for `count`
 * rows; sums of rows `row` to `row + count` of Input; the results of these.
 */
cg_value glow_cpu_blocks_sum(const cpu_blocks_maker *m, cg_value row);
void glow_cpu_blocks_clear(const cpu_blocks_maker *m, int64_t count);
void glow_cpu_blocks_sum_rows(const cpu_blocks_maker *m, cg_value row,
                              int64_t count);
void glow_cpu_blocks_finish_rows(const cpu_blocks_maker *m, cg_value row,
                                 int64_t count);

/*
 * The same by tile registers: true if a target multiplies `s` so; scratch; all panels of
 * the job, for which row_block is CPU_BLOCKS_MATRIX_ROWS.
 */
bool glow_cpu_blocks_has_matrix(const cpu_target *t, const cpu_blocks *s);
int64_t glow_cpu_blocks_matrix_scratch(const cpu_blocks *s);
void glow_cpu_blocks_by_matrix(cpu_blocks_maker *m);

/* Panels of the job, with few rows and many. */
int64_t glow_cpu_blocks_few_scratch(const cpu_blocks *s);
int64_t glow_cpu_blocks_many_scratch(const cpu_blocks *s);
void glow_cpu_blocks_few(cpu_blocks_maker *m);
void glow_cpu_blocks_by_digits(cpu_blocks_maker *m);
void glow_cpu_blocks_many(cpu_blocks_maker *m);
/* Calls `make` for each panel of the job's units, in loops. */
void glow_cpu_blocks_each(cpu_blocks_maker *m,
                          void (*make)(cpu_blocks_maker *m, void *user),
                          void *user);

#endif

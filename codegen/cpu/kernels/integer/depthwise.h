/*
 * Depthwise convolution of quantized elements, between its files: groups of taps and
 * blocks of channels, and the register tile.
 *
 * A group of elements is the same channel in taps one below the other; of lines that
 * are left over, in taps beside each other too.  3 x 3 taps in groups of two:
 *
 *     0 2 4    0 and 1, 2 and 3, 4 and 5: of two lines
 *     1 3 5
 *     6 7 8    6 and 7: of two columns; 8 and a weight of 0
 *
 * The vectors are interleaved within each 16 bytes, so that sums have the order of
 * glow_cpu_depthwise_natural, and are packed back by instructions that work within 16
 * bytes too.
 */

#ifndef CODEGEN_CPU_KERNELS_INTEGER_DEPTHWISE_H
#define CODEGEN_CPU_KERNELS_INTEGER_DEPTHWISE_H

#include "codegen/cpu/kernels/integer/integer.h"

#define CPU_DEPTHWISE_PIXELS 4 /* of a tile, at most */
#define CPU_DEPTHWISE_SUMS 4   /* vectors of sums for a vector of input */

/*
 * Groups of taps: `whole` of each column, then of the lines left over as many as have
 * `across` columns each, of `down` lines.
 */
typedef struct cpu_depthwise_groups {
    int64_t whole, rest; /* lines in groups, times the group; those left over */
    int down, across;
    int64_t count; /* groups of a pixel */
} cpu_depthwise_groups;

/* Channels of a block: one vector of input. */
typedef struct cpu_depthwise_block {
    int64_t first; /* channel */
    int channels, live;
    int lanes, sums; /* lanes of a vector of sums, and these vectors */
    int64_t weights; /* bytes of packed weights before it */
} cpu_depthwise_block;

/* Lines of taps, of all planes. */
int64_t glow_cpu_depthwise_lines(const cpu_integer *s);
cpu_depthwise_groups glow_cpu_depthwise_grouping(const cpu_integer *s);
/* The first tap of group `i`, and its line. */
int64_t glow_cpu_depthwise_tap(const cpu_integer *s,
                               const cpu_depthwise_groups *g, int64_t i);
int64_t glow_cpu_depthwise_line(const cpu_integer *s,
                                const cpu_depthwise_groups *g, int64_t i);
/*
 * Element `e` of a group that begins at a line of taps: its tap and line from there.
 */
void glow_cpu_depthwise_element(const cpu_integer *s,
                                const cpu_depthwise_groups *g, int64_t line,
                                int e, int *tap, int *below);
bool glow_cpu_depthwise_has_tap(const cpu_integer *s, int64_t tap,
                                int64_t line);

/* Channels of the largest block. */
int glow_cpu_depthwise_most_channels(const cpu_integer *s);
/* Block `i`; blocks of most channels, then one of fewer. */
cpu_depthwise_block glow_cpu_depthwise_block(const cpu_integer *s, int64_t i);
int64_t glow_cpu_depthwise_blocks(const cpu_integer *s);
/* Channel of the block of lane `lane` of sum `sum`. */
int glow_cpu_depthwise_natural(const cpu_integer *s, int sum, int lane);
/* Bytes of the packed weights, and columns behind them. */
int64_t glow_cpu_depthwise_weights(const cpu_integer *s);
int64_t glow_cpu_depthwise_columns(const cpu_integer *s);

typedef struct cpu_depthwise_maker {
    cpu_job *j;
    const cpu_integer *s;
    cg_value columns;      /* in scratch */
    cg_value any;          /* i1: some v is not 0 */
    cg_value plane, first; /* of the block of lines: plane of taps, line */
    cg_value from, in;     /* input of the image, and as it was copied */
    cg_value image;
    cpu_depthwise_block b;
    cg_value channel; /* the first of the block at hand */
    cg_value weights;
    bool sums_input; /* of each channel: some v is not 0 */
    cpu_integer_column column[CPU_DEPTHWISE_SUMS];
} cpu_depthwise_maker;

/* The results of `rows` pixels of the block of channels, from `x` of `line` on. */
void glow_cpu_depthwise_tile(const cpu_depthwise_maker *m, int rows,
                             cg_value line, cg_value x);

#endif

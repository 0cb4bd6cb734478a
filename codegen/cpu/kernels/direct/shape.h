/*
 * Blocking of sums over taps and depth for a target: rows and vectors of a
 * tile, lines of a block, units for threads.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_SHAPE_H
#define CODEGEN_CPU_KERNELS_DIRECT_SHAPE_H

#include "codegen/cpu/kernels/direct/direct.h"
#include "codegen/cpu/kernels/runs.h"

/* Blocking. */
typedef struct cpu_shape {
    int lanes, rows, blocks, unit;
    int64_t full;  /* groups of `blocks` vectors of output channels */
    int rest;      /* vectors in the last, smaller group, or 0 */
    int last;      /* lanes of the very last vector */
    int64_t lines; /* of a block */
} cpu_shape;

cpu_shape glow_cpu_direct_shape(const cpu_target *t, const cpu_direct *d);

/*
 * Chooses the form of the sums, and cuts pixels of windows that do not overlap,
 * such as of 1 x 1 kernels, into lines of whole tiles, for threads and
 * glow_cpu_lines_of to choose from; into lines of one tile if the choice sets
 * the lines of a block.  The last line is shorter.
 */
cpu_direct glow_cpu_flattened(const cpu_target *t, cpu_direct d);

/*
 * True if the product of `from`, whose weights are row-major floats, should pack them
 * panel by panel: its rows of weights conflict in the sets of the cache, and each block
 * of lines has several tiles.
 */
bool glow_cpu_pays_panels(const cpu_target *t, const cpu_direct *from);

/* Pixels of an image of the input, and of the result. */
int64_t glow_cpu_pixels_in(const cpu_direct *d);
int64_t glow_cpu_pixels_out(const cpu_direct *d);

/*
 * Lines of a block: all groups of channels are computed for these first.  If
 * the cache holds all weights, the L1 cache holds the input of the lines: then
 * the stores of results and the loads of the epilogue are nearly sequential.
 * Else either weights are read again for each block of lines, or the input for
 * each group of channels: the smaller of the two.
 */
int64_t glow_cpu_lines_of(const cpu_target *t, const cpu_direct *d,
                          const cpu_shape *s);

/* Cuts a line of the result into runs of tiles; 0 if there are too many. */
int glow_cpu_cut_lines(glow_arena *a, const cpu_direct *d, const cpu_shape *s,
                       cpu_run *runs);

/*
 * True if units are groups of channels, so that threads share weights, for many
 * weights or few lines; else units are lines of the result, so that they share
 * input.
 */
bool glow_cpu_is_by_channels(const cpu_target *t, const cpu_direct *d,
                             const cpu_shape *s);
/*
 * True if all images are computed for a group of channels before the next group, so
 * that weights that outgrow the cache are read once, unless reading the input again takes
 * more.  Units are groups of channels.
 */
bool glow_cpu_is_by_groups(const cpu_target *t, const cpu_direct *d);
int64_t glow_cpu_channel_groups(const cpu_shape *s);
/*
 * Tiles of the only line of each image, in units of these; 0: units are lines or
 * groups of channels.
 */
int64_t glow_cpu_line_tiles(const cpu_target *t, const cpu_direct *d,
                            const cpu_shape *s);

/*
 * Bytes of all weights; of the packed ones of `blocks` vectors of channels, and
 * of all that are packed.
 */
int64_t glow_cpu_weight_bytes(const cpu_direct *d);
int64_t glow_cpu_group_bytes(const cpu_direct *d, const cpu_shape *s,
                             int blocks);
int64_t glow_cpu_packed_bytes(const cpu_direct *d, const cpu_shape *s);

/*
 * Emits code that packs operand 1, whose filter is d->turned; returns its
 * address.  The second packs the `count` vectors of outputs of one group of channels,
 * which begin at output `channel` of group `group`.
 */
cg_value glow_cpu_turn_weights(cpu_job *j, const cpu_direct *d,
                               const cpu_shape *s);
cg_value glow_cpu_turn_group(cpu_job *j, const cpu_direct *d,
                             const cpu_shape *s, cg_value group,
                             cg_value channel, int count, int last);

/*
 * Lines whose partial sums are kept at once, on the stack in CPU_NEAR_KEPT bytes, if the
 * depth of panels is cut.
 */
#define CPU_NEAR_KEPT (1 << 14)
int64_t glow_cpu_near_lines(const cpu_direct *d, const cpu_shape *s);

/* Bytes of the partial sums, if the depth is cut. */
int64_t glow_cpu_kept_bytes(const cpu_direct *d, const cpu_shape *s);
/* The same, and of a part of the input behind them, if it is copied. */
int64_t glow_cpu_parts_bytes(const cpu_direct *d, const cpu_shape *s);

#endif

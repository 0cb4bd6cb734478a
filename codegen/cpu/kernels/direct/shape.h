/*
 * How sums over taps and depth are cut up for a target: rows and vectors of a
 * tile, lines of a block, units for threads.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_SHAPE_H
#define CODEGEN_CPU_KERNELS_DIRECT_SHAPE_H

#include "codegen/cpu/kernels/direct/direct.h"
#include "codegen/cpu/kernels/runs.h"

/* How it is cut up. */
typedef struct cpu_shape {
    int lanes, rows, blocks, unit;
    int64_t full;  /* groups of `blocks` vectors of output channels */
    int rest;      /* vectors in the last, smaller group, or 0 */
    int last;      /* lanes of the very last vector */
    int64_t lines; /* of a block */
} cpu_shape;

cpu_shape glow_cpu_direct_shape(const cpu_target *t, const cpu_direct *d);

/*
 * Pixels without neighbours are cut into lines of whole tiles, for threads and
 * glow_cpu_lines_of to choose from; of one, if the choice says how many lines a
 * block has.  The last line has what is left.
 */
cpu_direct glow_cpu_flattened(const cpu_target *t, cpu_direct d);

/* Pixels of an image of the input, and of the result. */
int64_t glow_cpu_pixels_in(const cpu_direct *d);
int64_t glow_cpu_pixels_out(const cpu_direct *d);

/*
 * How many lines to take for all groups of channels before going on.  If the
 * cache holds all weights, as many as the first cache holds the input of: then
 * results are written, and what is added to them is read, nearly one behind the
 * other.  Else weights are read again for each block of lines, or the input for
 * each group of channels: what is less.
 */
int64_t glow_cpu_lines_of(const cpu_target *t, const cpu_direct *d,
                          const cpu_shape *s);

/* Cuts a line of the result into runs of tiles; 0 if there are too many. */
int glow_cpu_cut_lines(glow_arena *a, const cpu_direct *d, const cpu_shape *s,
                       cpu_run *runs);

/*
 * Units: lines of the result, so that their input is shared; or groups of
 * channels, so that weights are, where these are many or lines are few.
 */
bool glow_cpu_is_by_channels(const cpu_target *t, const cpu_direct *d,
                             const cpu_shape *s);
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

/* Packs operand 1 as d->turned says; returns where that lies. */
cg_value glow_cpu_turn_weights(cpu_job *j, const cpu_direct *d,
                               const cpu_shape *s);

/* Bytes of the sums that wait for the rest of the depth, if it is cut. */
int64_t glow_cpu_kept_bytes(const cpu_direct *d, const cpu_shape *s);

#endif

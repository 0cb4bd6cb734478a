/*
 * Gradients of filters: cutting of the sums over windows into tiles and tasks.
 *
 *     result[o, tap, c] = sum over windows of d[window, o] * x[window at tap, c]
 *
 * A register tile is `rows` outputs, broadcast, times `vectors` of contiguous elements
 * of x; it is summed up over a block of windows and then added to the result, so that
 * sums are short and a block stays in the cache.
 */

#ifndef CODEGEN_CPU_KERNELS_GRADIENT_FILTER_H
#define CODEGEN_CPU_KERNELS_GRADIENT_FILTER_H

#include "codegen/cpu/kernels/common.h"

typedef enum cpu_filter_form {
    /* Elements of x are the channels at a tap, read where they are. */
    CPU_BY_TAP,
    /* Elements of x are those under a window, copied to scratch side by side. */
    CPU_BY_WINDOW,
    /* Groups of one channel and one output: lanes are groups. */
    CPU_BY_GROUP,
} cpu_filter_form;

typedef struct cpu_filter_grad {
    cpu_filter_form form;
    cpu_window w; /* of axes 1 and 2; batch includes axis 0 */
    int64_t groups;
    int64_t channels, outputs; /* of a group */
    int64_t taps;
    /* Elements of x in a row of the result that tiles cut up. */
    int64_t width;
    int lanes, vectors, rows;
    /* Of a block: images, lines and windows of a line. */
    int64_t images, lines, windows;
    int64_t copied; /* elements from a copied window to the next */
} cpu_filter_grad;

/* False if three spatial axes matter, or elements are not computed as float. */
bool glow_cpu_filter_grad_of(const cpu_target *t, const glow_node *n,
                             cpu_filter_grad *out);

/* The windows of the block that is summed up: from `first` to less than `end`. */
typedef struct cpu_filter_block {
    cg_value image[2], line[2], window[2];
    cg_value first;  /* the number of its first window, of all */
    cg_value count;  /* of its windows */
    cg_value begins; /* i1: no block came before */
} cpu_filter_block;

/* Copies what the windows of block `b` see of `group` to scratch. */
void glow_cpu_copy_windows(cpu_job *j, const cpu_filter_grad *f,
                           const cpu_filter_block *b, cg_value group);

#endif

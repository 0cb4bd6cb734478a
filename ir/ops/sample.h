/*
 * Interpolation of one position on one axis: the elements read and their
 * weights, for GridSample and DeformConv.
 */

#ifndef IR_OPS_SAMPLE_H
#define IR_OPS_SAMPLE_H

#include "ir/ops/common.h"

#define GLOW_MOST_TAPS 4

typedef struct glow_spot {
    int taps;
    int64_t at[GLOW_MOST_TAPS]; /* -1: reads 0 */
    double weight[GLOW_MOST_TAPS];
} glow_spot;

/* Interpolation and padding of an axis. */
typedef struct glow_sampling {
    int mode;           /* GLOW_RESIZE_... */
    int padding;        /* GLOW_SAMPLE_... */
    bool align_corners; /* reflection at the middle of the last element */
} glow_sampling;

glow_spot glow_spot_at(const glow_sampling *s, double x, int64_t in);

/*
 * The sum over all taps of `axes` spots; `strides` in elements of `t`, and
 * `from` is the element at position 0.
 */
double glow_spot_sum(const glow_tensor *t, const glow_spot s[], int axes,
                     const int64_t strides[], int64_t from);

#endif

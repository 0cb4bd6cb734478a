/*
 * Windows of convolution and pooling over the spatial axes of a tensor, which
 * are between batch and channels.
 */

#ifndef IR_OPS_WINDOW_H
#define IR_OPS_WINDOW_H

#include "ir/ops/common.h"

#define GLOW_MOST_SPATIAL 3

/* One spatial axis.  Missing ones have 1 element and a window of 1. */
typedef struct glow_window_axis {
    int64_t in, out;    /* elements of the operand and of the result */
    int64_t kernel;     /* taps */
    int64_t stride;     /* from one window to the next */
    int64_t dilation;   /* from one tap to the next */
    int64_t start, end; /* pads */
    int64_t span;       /* from the first tap to behind the last */
} glow_window_axis;

typedef struct glow_window {
    int axes;
    int64_t batch, channels;
    glow_window_axis at[GLOW_MOST_SPATIAL]; /* the spatial axes come last */
} glow_window;

/*
 * Checks operand 0, of shape [batch, spatial.., channels], against the
 * attributes of a window and sets all fields of `w` but `out`.
 */
bool glow_window_check(const glow_node *n, glow_dims kernels, glow_dims strides,
                       glow_dims pads, glow_dims dilation, glow_window *w);
/*
 * Sets `out` of each axis: the number of windows within the padded operand, or
 * with `ceil` of windows that begin in the operand or its first pad.
 */
bool glow_window_outputs(const glow_node *n, glow_window *w, bool ceil);

/* A window of attributes that were checked, and known shapes. */
glow_window glow_window_of(glow_dims in, glow_dims out, glow_dims kernels,
                           glow_dims strides, glow_dims pads,
                           glow_dims dilation);

/* [batch, out.., channels]. */
glow_dims glow_window_shape(const glow_window *w, int64_t channels);
/* The number of results, or taps, of all axes together. */
int64_t glow_window_results(const glow_window *w);
int64_t glow_window_taps(const glow_window *w);

/*
 * The taps first, ..., last - 1 of the window of result `out` that are in [low,
 * high) of an axis, whose first element is 0.
 */
typedef struct glow_taps {
    int64_t base; /* the position of tap 0 */
    int64_t first, last;
} glow_taps;
glow_taps glow_window_range(const glow_window_axis *a, int64_t out, int64_t low,
                            int64_t high);

#endif

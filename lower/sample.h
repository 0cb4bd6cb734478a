/* Interpolation of an image at positions that are values of the graph. */

#ifndef LOWER_SAMPLE_H
#define LOWER_SAMPLE_H

#include "lower/common.h"

typedef struct glow_lower_reading {
    int mode;           /* GLOW_RESIZE_... */
    int padding;        /* GLOW_SAMPLE_... */
    bool align_corners; /* reflection at the middle of the last element */
} glow_lower_reading;

/*
 * Image x, [N, spatial.., C], interpolated at the positions at[a], [N, P]
 * floats for each of its spatial axes: [N, P, C].
 */
glow_value *glow_lower_sample(glow_builder *b, const glow_lower_reading *how,
                              glow_value *x, glow_value *const at[]);

/*
 * One axis interpolated at constant positions; `nearest`: there is one tap, of
 * weight 1.
 */
glow_value *glow_lower_sum_axis(glow_builder *b, glow_value *x, int axis,
                                const glow_samples *s, bool nearest);

/* Element `i` of the last axis of `v`, without this axis. */
glow_value *glow_lower_column(glow_builder *b, glow_value *v, int64_t i);
/* A constant of a float kind. */
glow_value *glow_lower_reals(glow_builder *b, const char *suffix,
                             glow_kind kind, glow_dims shape, const double *at);

#endif

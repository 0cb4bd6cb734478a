/* Helpers of the lowering rules of training steps. */

#ifndef LOWER_TRAIN_H
#define LOWER_TRAIN_H

#include "lower/loss.h"

/*
 * The operands, converted for the computation: R and T to float64, since they
 * are scalars, and 16-bit tensors to float.
 */
typedef struct glow_lower_train {
    glow_value *r, *t, *x, *g;
    glow_value *kept[2];
} glow_lower_train;

/*
 * Sets `s` to the operands of `n`, with X * norm added to G; false: a builder
 * has failed.
 */
bool glow_lower_train_begin(glow_builder *b, const glow_node *n, float norm,
                            glow_lower_train *s);
/* Replaces result `i` of `n` by `v`, converted to its element kind. */
void glow_lower_train_end(glow_builder *b, glow_node *n, int i, glow_value *v);
/* A scalar of float64 in the kind and shape of X. */
glow_value *glow_lower_rate(glow_builder *b, const glow_lower_train *s,
                            glow_value *rate);
/* x - rate * direction / (Sqrt(h) + epsilon); without `h`, divides by 1. */
glow_value *glow_lower_step(glow_builder *b, glow_value *x, glow_value *rate,
                            glow_value *direction, glow_value *h,
                            float epsilon);

#endif

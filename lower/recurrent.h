/* Lowering of RNN, GRU and LSTM, parametrized by their cell. */

#ifndef LOWER_RECURRENT_H
#define LOWER_RECURRENT_H

#include "lower/common.h"

/* One direction of a network. */
typedef struct recurrent {
    glow_builder *b;
    const glow_node *n;
    const glow_recurrent *attrs;
    int64_t batch, hidden, gates;
    glow_value *r;        /* [H, G H]: R, transposed */
    glow_value *rb;       /* [G H], or NULL: none, or it is in x */
    glow_value *p[3];     /* peepholes, each [B, H], or NULL */
    glow_activation f[3]; /* Activations */
} recurrent;

typedef struct recurrent_state {
    glow_value *h, *c; /* [B, H]; c is NULL where there is none */
} recurrent_state;

/*
 * The state after a step; `x` [B, G H] is the contribution of X, with its Bias.
 */
typedef recurrent_state (*recurrent_step_fn)(const recurrent *r, glow_value *x,
                                             recurrent_state before);

/*
 * Lowers a network: a network with W to one product for the X of all steps and
 * the network without W; a network without W to one `step` for each step of the
 * sequence.  With `split` the Bias of R is in r->rb, else in `x`.
 */
glow_value *glow_lower_recurrent(glow_builder *b, glow_node *n, int activations,
                                 bool split, recurrent_step_fn step);

/* The [B, H] of gate `gate` out of [B, G H]. */
glow_value *glow_lower_recurrent_gate(const recurrent *r, glow_value *all,
                                      int gate);
/* The product of the state and rows first, ... of R, plus their Bias. */
glow_value *glow_lower_recurrent_product(const recurrent *r, glow_value *h,
                                         int first, int count);
/* Activation `f` of x; of a gate, whose x is clipped first. */
glow_value *glow_lower_recurrent_apply(const recurrent *r, int f,
                                       glow_value *x);
glow_value *glow_lower_recurrent_apply_gate(const recurrent *r, int f,
                                            glow_value *x);

#endif

/* Recurrent networks. */

#ifndef GLOW_OPS_RECURRENT_H
#define GLOW_OPS_RECURRENT_H

#include "glow/graph.h"

GLOW_BEGIN

/*
 * Recurrent networks over whole sequences: ir/ops/recurrent.c.  X [T, B, I],
 * W? [D, G H, I], R [D, G H, H], Bias? [D, 2 G H], SequenceLens? [B],
 * InitialH? [D, B, H]; LSTM also InitialC?, P? [D, 3 H].  Results Y [T, D, B,
 * H], Yh [D, B, H]; LSTM also Yc.  Without W, X is [T, B, D G H].
 */

typedef struct glow_recurrent {
    int direction;                /* GLOW_FORWARD, ... */
    const char *activations;      /* "Sigmoid Tanh Tanh": for each, or all */
    glow_floats activation_alpha; /* one for each; none: their defaults */
    glow_floats activation_beta;
    float clip;               /* bound of the inputs of gates; 0: none */
    bool input_forget;        /* LSTM: the forget gate is 1 - input gate */
    bool linear_before_reset; /* GRU */
} glow_recurrent;
typedef glow_recurrent glow_gru;
typedef glow_recurrent glow_lstm;
typedef glow_recurrent glow_rnn;
enum { GLOW_FORWARD, GLOW_REVERSE, GLOW_BIDIRECTIONAL };

extern GLOW_API const glow_op glow_op_gru;
extern GLOW_API const glow_op glow_op_lstm;
extern GLOW_API const glow_op glow_op_lstmunit; /* Input, C; H and C */
extern GLOW_API const glow_op glow_op_rnn;

/* A function that such a network may apply, and its parameters. */
typedef struct glow_activation {
    const char *name;
    bool has_alpha, has_beta; /* the parameters that mean something to it */
    float alpha, beta;
} glow_activation;
#define GLOW_MOST_ACTIVATIONS 3 /* of one direction */

/* By name, with the default parameters; NULL if there is none. */
GLOW_API const glow_activation *glow_find_activation(const char *name,
                                                     size_t length);
/*
 * The activations of direction 0 or 1 of a valid node; each direction has `each` of
 * them: 3 for LSTM, 2 for GRU, 1 for RNN.
 */
GLOW_API void
glow_recurrent_activations(const glow_recurrent *a, int each, int direction,
                           glow_activation out[GLOW_MOST_ACTIVATIONS]);

GLOW_END

#endif

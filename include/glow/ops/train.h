/* Losses, and steps of training. */

#ifndef GLOW_OPS_TRAIN_H
#define GLOW_OPS_TRAIN_H

#include "glow/graph.h"

GLOW_BEGIN

/* Losses: ir/ops/loss.c, logits.c. */

enum { GLOW_LOSS_NONE, GLOW_LOSS_MEAN, GLOW_LOSS_SUM };

typedef struct glow_negativeloglikelihoodloss { /* Input, Target, Weight? */
    int reduction;                              /* GLOW_LOSS_... */
    int64_t ignore_index;                       /* default GLOW_IGNORE_NONE */
} glow_negativeloglikelihoodloss;
#define GLOW_IGNORE_NONE INT64_MIN

typedef struct glow_binarycrossentropywithlogits { /* Weight?, PosWeight? */
    int reduction;
} glow_binarycrossentropywithlogits;

extern GLOW_API const glow_op glow_op_binarycrossentropywithlogits;
extern GLOW_API const glow_op glow_op_crossentropyloss; /* P, Labels */
extern GLOW_API const glow_op glow_op_negativeloglikelihoodloss;
extern GLOW_API const glow_op glow_op_regression; /* Input, Expected */
extern GLOW_API const glow_op glow_op_sigmoidcrossentropywithlogits;

/* Steps of training: ir/ops/train.c.  R, T, X, G, and state. */

typedef struct glow_adagrad { /* H -> NewX, NewH */
    float decay_factor;       /* default 0 */
    float epsilon;            /* default 1e-6 */
    float norm_coefficient;   /* default 0 */
} glow_adagrad;

typedef struct glow_adam { /* V, H -> NewX, NewV, NewH */
    float alpha;           /* default 0.9 */
    float beta;            /* default 0.999 */
    float epsilon;         /* default 1e-6 */
    float norm_coefficient;
    float norm_coefficient_post; /* default 0, both */
    float weight_decay;          /* default 0 */
    bool correct_first;          /* default false */
} glow_adam;

typedef struct glow_momentum { /* V -> NewX, NewV */
    float alpha;
    float beta;
    float norm_coefficient; /* default 0 */
    int mode;               /* GLOW_MOMENTUM_STANDARD, ..NESTEROV */
} glow_momentum;
enum { GLOW_MOMENTUM_STANDARD, GLOW_MOMENTUM_NESTEROV };

extern GLOW_API const glow_op glow_op_adagrad;
extern GLOW_API const glow_op glow_op_adam;
extern GLOW_API const glow_op glow_op_momentum;

GLOW_END

#endif

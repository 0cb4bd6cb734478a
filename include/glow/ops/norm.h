/* Normalization. */

#ifndef GLOW_OPS_NORM_H
#define GLOW_OPS_NORM_H

#include "glow/graph.h"

GLOW_BEGIN

/* Normalization: ir/ops/norm.c, norm_grad.c, norm_group.c, statistics.c, softmax.c. */

typedef struct glow_batchnormalization { /* Input, Scale, Bias, Mean, Var */
    int channel_idx;
    float epsilon;
} glow_batchnormalization;

/* The gradient where Mean and Var are those of the batch: Input, Scale, Mean, Var,
   ResultGrad. */
typedef struct glow_batchnormalization glow_batchnormalizationgrad;

typedef struct glow_layernormalization { /* axes from Axis on; Scale?, Bias? */
    int axis;
    float epsilon;
} glow_layernormalization;

typedef struct glow_layernormalization glow_rmsnormalization; /* Scale? */

/* The gradients: Input, Scale?, ResultGrad. */
typedef struct glow_layernormalization glow_layernormalizationgrad;
typedef struct glow_layernormalization glow_rmsnormalizationgrad;

typedef struct glow_instancenormalization { /* Input, Scale, Bias */
    int channel_idx;
    float epsilon;
} glow_instancenormalization;

typedef struct glow_groupnormalization { /* Input, Scale, Bias */
    int channel_idx;
    int64_t group;
    float epsilon;
} glow_groupnormalization;

typedef struct glow_meanvarnormalization { /* Input, Mean, Var */
    int channel_idx;
    float momentum; /* weight of the current batch */
} glow_meanvarnormalization;

typedef struct glow_batchboxcox { /* Input, Lambda1, Lambda2 */
    float epsilon;
} glow_batchboxcox;

typedef struct glow_localresponsenormalization { /* over the last axis */
    int64_t half_window_size;
    float alpha;
    float beta;
    float k;
} glow_localresponsenormalization;

typedef struct glow_softmax {
    int axis;
} glow_softmax;
typedef glow_softmax glow_hardmax;
typedef glow_softmax glow_logsoftmax;

extern GLOW_API const glow_op glow_op_batchboxcox;
extern GLOW_API const glow_op glow_op_batchnormalization;
extern GLOW_API const glow_op
    glow_op_batchnormalizationgrad; /* InputGrad, ScaleGrad, BiasGrad */
extern GLOW_API const glow_op glow_op_groupnormalization;
extern GLOW_API const glow_op glow_op_hardmax; /* ir/ops/hardmax.c */
extern GLOW_API const glow_op glow_op_instancenormalization;
extern GLOW_API const glow_op glow_op_layernormalization;
extern GLOW_API const glow_op
    glow_op_layernormalizationgrad; /* InputGrad, ScaleGrad, BiasGrad */
extern GLOW_API const glow_op glow_op_localresponsenormalization;
extern GLOW_API const glow_op glow_op_logsoftmax;
extern GLOW_API const glow_op
    glow_op_meanvarnormalization; /* NewMean, NewVar */
extern GLOW_API const glow_op glow_op_rmsnormalization;
extern GLOW_API const glow_op
    glow_op_rmsnormalizationgrad; /* InputGrad, ScaleGrad */
extern GLOW_API const glow_op glow_op_softmax;

GLOW_END

#endif

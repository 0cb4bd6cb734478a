/*
 * Convolution and pooling.
 *
 * Shapes are written as [N, H, W, C].  Both take one to three spatial axes between
 * batch and channels: [N, W, C] to [N, T, H, W, C].
 */

#ifndef GLOW_OPS_WINDOW_H
#define GLOW_OPS_WINDOW_H

#include "glow/graph.h"

GLOW_BEGIN

/* Convolution: ir/ops/conv.c. */

typedef struct glow_convolution { /* Filter [O, kernel..., C / Group] */
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads; /* all starts, then all ends */
    int64_t group;
    glow_dims dilation; /* default rank 0: all 1 */
} glow_convolution;

typedef struct glow_convtranspose { /* Filter [C, kernel..., O / Group] */
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    int64_t group;
    glow_dims dilation;       /* default rank 0: all 1 */
    glow_dims output_padding; /* default rank 0: all 0 */
} glow_convtranspose;

extern GLOW_API const glow_op glow_op_convolution;   /* Input, Filter, Bias? */
extern GLOW_API const glow_op glow_op_convtranspose; /* the same */

/* The gradient by the filter, [O, kernel..., C / Group]: ir/ops/filtergrad.c. */
typedef glow_convolution glow_convolutionfiltergrad;
/* Input, ResultGrad */
extern GLOW_API const glow_op glow_op_convolutionfiltergrad;

/*
 * Sums with an epilogue, Activation(sum + bias + addend): ir/ops/fused.c.
 * Activation is one of GLOW_FUSED_..., and its arguments are the attributes of
 * that operator in their order, as numbers.
 */

typedef struct glow_fusedconvolution {
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    int64_t group;
    glow_dims dilation; /* default rank 0: all 1 */
    int activation;
    glow_floats activation_args;
} glow_fusedconvolution;

typedef struct glow_fusedfullyconnected {
    int axis;
    int activation;
    glow_floats activation_args;
} glow_fusedfullyconnected;

enum { GLOW_FUSED_NONE };

/* Input, Filter, Bias?, Addend? */
extern GLOW_API const glow_op glow_op_fusedconvolution;
/* Input, Weights, Bias?, Addend? */
extern GLOW_API const glow_op glow_op_fusedfullyconnected;

/* The attributes that both share with the operators that they fuse. */
GLOW_API glow_convolution
glow_fused_convolution_of(const glow_fusedconvolution *f);
/* The operator that an Activation names; NULL for GLOW_FUSED_NONE. */
GLOW_API const glow_op *glow_fused_activation(int activation);
/* The Activation that node `n` is, or GLOW_FUSED_NONE; its arguments. */
GLOW_API int glow_fused_activation_of(const glow_node *n);
GLOW_API glow_floats glow_fused_args_of(glow_arena *a, const glow_node *n);
/* The attributes of that operator, in `a`; NULL if it has none. */
GLOW_API const void *glow_fused_attrs(glow_arena *a, int activation,
                                      glow_floats args);

/* Pooling: ir/ops/pool.c. */

typedef struct glow_maxpool {
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    glow_dims dilation; /* default rank 0: all 1 */
    bool ceil_mode;     /* default false */
} glow_maxpool;
typedef glow_maxpool glow_maxpoolwithargmax;
typedef glow_maxpool glow_maxpoolgrad;

typedef struct glow_avgpool {
    glow_dims kernels;
    glow_dims strides;
    glow_dims pads;
    glow_dims dilation; /* default rank 0: all 1 */
    bool ceil_mode;     /* default false */
    bool count_include_pads;
} glow_avgpool;

/* The result is stated: its shape is the size; ir/ops/adaptivepool.c. */
extern GLOW_API const glow_op glow_op_adaptiveavgpool;
extern GLOW_API const glow_op glow_op_avgpool;
extern GLOW_API const glow_op glow_op_maxpool;
extern GLOW_API const glow_op glow_op_maxpoolgrad;       /* Input, ResultGrad */
extern GLOW_API const glow_op glow_op_maxpoolwithargmax; /* Result, Argmax */

GLOW_END

#endif

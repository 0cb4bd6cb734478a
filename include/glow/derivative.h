/*
 * Derivatives of operators, one constant each, which the operator's definition
 * names (glow_op.derivative).
 *
 * A derivative is written as the operators that compute it, in the least of three
 * forms:
 *
 *   partial    element-wise operators: the product of the gradient by the result and
 *              the partial derivative by an operand
 *   transpose  operators that are linear in an operand: the transpose of this linear
 *              map, applied to the gradient by the result
 *   gradient   others: the gradients of all operands at once
 *
 * A rule builds nodes with the public builder, may read operands and results of the
 * node, and leaves the node alone.  A result that it reads stays live until then:
 * where both serve, a rule prefers results to operands.  Rules build zeros by Select,
 * not by products, because 0 times an infinity is NaN.
 *
 * Source of the forms: Bradbury et al., JAX (2018), whose primitives have a product
 * with a tangent, and linear ones a transpose.
 */

#ifndef GLOW_DERIVATIVE_H
#define GLOW_DERIVATIVE_H

#include "glow/build.h"

GLOW_BEGIN

/* A node and the gradients of a loss by its results. */
typedef struct glow_gradient {
    glow_node *node;
    /* By node->out[i]: of its type; NULL: 0 everywhere. */
    glow_value *const *by_result;
    /* By node->in[i]: if the gradient is asked for. */
    const bool *wanted;
    /*
     * By node->in[i]: to be set to a value of its type; NULL stays: 0.  That of a
     * Dequantize or DequantizeLinear is by the operand of the node before it that
     * rounds.
     */
    glow_value **by_operand;
} glow_gradient;

struct glow_derivative {
    /*
     * `d`, of the result's type, times the partial derivative by n->in[i]; NULL:
     * 0 everywhere.
     */
    glow_value *(*partial)(glow_builder *b, glow_node *n, int i, glow_value *d);
    /* `d`, of the type of the first result, carried back to n->in[i]. */
    glow_value *(*transpose)(glow_builder *b, glow_node *n, int i,
                             glow_value *d);
    /* Sets g->by_operand; false after a report. */
    bool (*gradient)(glow_builder *b, const glow_gradient *g);
    /* The attributes that no form is right for: "with Reduction mul"; NULL: none. */
    const char *(*refuses)(const glow_node *n);
    /* Results of floats that are constant but for jumps: their gradient is 0. */
    bool is_zero;
    /* The operator calls bodies, which the pass differentiates: no rule builds this. */
    bool is_call;
};

/* The derivatives of the library. */

/* Element-wise: ir/derivatives/elementwise.c. */
extern GLOW_API const glow_derivative glow_derivative_abs;
extern GLOW_API const glow_derivative glow_derivative_acos;
extern GLOW_API const glow_derivative glow_derivative_add;
extern GLOW_API const glow_derivative glow_derivative_asin;
extern GLOW_API const glow_derivative glow_derivative_atan;
extern GLOW_API const glow_derivative glow_derivative_copy;
extern GLOW_API const glow_derivative glow_derivative_cos;
extern GLOW_API const glow_derivative glow_derivative_div;
extern GLOW_API const glow_derivative glow_derivative_erf;
extern GLOW_API const glow_derivative glow_derivative_exp;
extern GLOW_API const glow_derivative glow_derivative_fmod;
extern GLOW_API const glow_derivative glow_derivative_log;
extern GLOW_API const glow_derivative glow_derivative_max;
extern GLOW_API const glow_derivative glow_derivative_min;
extern GLOW_API const glow_derivative glow_derivative_mul;
extern GLOW_API const glow_derivative glow_derivative_neg;
extern GLOW_API const glow_derivative glow_derivative_pow;
extern GLOW_API const glow_derivative glow_derivative_relu;
extern GLOW_API const glow_derivative glow_derivative_relugrad;
extern GLOW_API const glow_derivative glow_derivative_select;
extern GLOW_API const glow_derivative glow_derivative_sigmoid;
extern GLOW_API const glow_derivative glow_derivative_sin;
extern GLOW_API const glow_derivative glow_derivative_sqrt;
extern GLOW_API const glow_derivative glow_derivative_sub;
extern GLOW_API const glow_derivative glow_derivative_tanh;
/* Composite, by rules that keep less than those of what they are lowered to. */
extern GLOW_API const glow_derivative glow_derivative_clip;
extern GLOW_API const glow_derivative glow_derivative_gelu;
extern GLOW_API const glow_derivative glow_derivative_leakyrelu;
extern GLOW_API const glow_derivative glow_derivative_softplus;
extern GLOW_API const glow_derivative glow_derivative_swish;
/* Jumps: Ceil, Floor, Round, Truncate, Sign. */
extern GLOW_API const glow_derivative glow_derivative_zero;

/* Movement of elements: ir/derivatives/layout.c, gather.c. */
extern GLOW_API const glow_derivative glow_derivative_broadcast;
extern GLOW_API const glow_derivative glow_derivative_concat;
extern GLOW_API const glow_derivative glow_derivative_convertto;
extern GLOW_API const glow_derivative glow_derivative_embedding;
extern GLOW_API const glow_derivative glow_derivative_gather;
extern GLOW_API const glow_derivative glow_derivative_inserttensor;
extern GLOW_API const glow_derivative glow_derivative_reshape;
extern GLOW_API const glow_derivative glow_derivative_scatterdata;
extern GLOW_API const glow_derivative glow_derivative_slice;
extern GLOW_API const glow_derivative glow_derivative_transpose;

/* Calls of bodies, If and Loop: ir/derivatives/control.c. */
extern GLOW_API const glow_derivative glow_derivative_if;
extern GLOW_API const glow_derivative glow_derivative_loop;

/* Sums and products: ir/derivatives/product.c, reduce.c. */
extern GLOW_API const glow_derivative glow_derivative_batchedadd;
extern GLOW_API const glow_derivative glow_derivative_batchedreduceadd;
extern GLOW_API const glow_derivative glow_derivative_batchedreducemax;
extern GLOW_API const glow_derivative glow_derivative_batchedreducemean;
extern GLOW_API const glow_derivative glow_derivative_batchedreducemin;
extern GLOW_API const glow_derivative glow_derivative_batchedreduceprod;
extern GLOW_API const glow_derivative glow_derivative_batchmatmul;
extern GLOW_API const glow_derivative glow_derivative_cumprod;
extern GLOW_API const glow_derivative glow_derivative_cumsum;
extern GLOW_API const glow_derivative glow_derivative_fullyconnected;
extern GLOW_API const glow_derivative glow_derivative_matmul;
extern GLOW_API const glow_derivative glow_derivative_reducel2;
extern GLOW_API const glow_derivative glow_derivative_reducelogsumexp;
extern GLOW_API const glow_derivative glow_derivative_softmax;
extern GLOW_API const glow_derivative glow_derivative_logsoftmax;
extern GLOW_API const glow_derivative glow_derivative_topk;

/* Windows: ir/derivatives/window.c. */
extern GLOW_API const glow_derivative glow_derivative_avgpool;
extern GLOW_API const glow_derivative glow_derivative_convolution;
extern GLOW_API const glow_derivative glow_derivative_convolutionfiltergrad;
extern GLOW_API const glow_derivative glow_derivative_convtranspose;
extern GLOW_API const glow_derivative glow_derivative_maxpool;
extern GLOW_API const glow_derivative glow_derivative_maxpoolgrad;
extern GLOW_API const glow_derivative glow_derivative_maxpoolwithargmax;

/* Rounding to quantized elements and back: ir/derivatives/quantize.c. */
extern GLOW_API const glow_derivative glow_derivative_dequantize;
extern GLOW_API const glow_derivative glow_derivative_dequantizelinear;

/* Resizing and regions: ir/derivatives/image.c, roi.c. */
extern GLOW_API const glow_derivative glow_derivative_maxroipool;
extern GLOW_API const glow_derivative glow_derivative_resizebilinear;
extern GLOW_API const glow_derivative glow_derivative_resizenearest;
extern GLOW_API const glow_derivative glow_derivative_roialign;

/* Normalizations and losses: ir/derivatives/norm.c, loss.c. */
extern GLOW_API const glow_derivative glow_derivative_layernormalization;
extern GLOW_API const glow_derivative
    glow_derivative_localresponsenormalization;
extern GLOW_API const glow_derivative glow_derivative_meanvarnormalization;
extern GLOW_API const glow_derivative glow_derivative_rmsnormalization;
extern GLOW_API const glow_derivative glow_derivative_batchnormalization;
extern GLOW_API const glow_derivative glow_derivative_crossentropyloss;
extern GLOW_API const glow_derivative glow_derivative_negativeloglikelihoodloss;
extern GLOW_API const glow_derivative
    glow_derivative_sigmoidcrossentropywithlogits;

GLOW_END

#endif

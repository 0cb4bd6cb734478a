/*
 * Checks of operands 0 to 2 and the sums, shared by Convolution and
 * FullyConnected with their fused and quantized forms.
 */

#ifndef IR_OPS_CONV_H
#define IR_OPS_CONV_H

#include "ir/ops/sums.h"

/* Group must divide the channels of Input and of Result. */
bool glow_check_groups(const glow_node *n, int64_t group, int64_t inputs,
                       int64_t outputs);
/* Of floats. */
bool glow_convolution_infer(const glow_node *n, const glow_convolution *c,
                            glow_type out[]);
/* Of quantized elements, whose type is stated; see glow_check_sums. */
bool glow_convolution_infer_quantized(const glow_node *n,
                                      const glow_convolution *c,
                                      bool by_channel, glow_type out[]);
int64_t glow_convolution_flops(const glow_node *n);
/* The fields of glow_convolution. */
#define GLOW_CONVOLUTION_ATTRS                                               \
    {GLOW_FIELD(glow_convolution, kernels, GLOW_DIMS,                        \
                "the size of a filter, per spatial axis"),                   \
     GLOW_FIELD(glow_convolution, strides, GLOW_DIMS,                        \
                "from one result to the next, in elements of Input"),        \
     GLOW_FIELD(glow_convolution, pads, GLOW_DIMS,                           \
                "zeros before each spatial axis, then after each"),          \
     GLOW_FIELD(glow_convolution, group, GLOW_INT64,                         \
                "how many groups the channels fall into; each is convolved " \
                "by itself"),                                                \
     GLOW_FIELD_DEFAULT(glow_convolution, dilation, GLOW_DIMS,               \
                        "from one element of a filter to the next, in "      \
                        "elements of Input; `[]`: all 1")}
/* Sums in double; in[2] may be NULL.  `sums`: of quantized elements, else NULL. */
void glow_convolve(const glow_convolution *c, glow_tensor *const in[],
                   const glow_tensor *out, const glow_sums *sums);

/* The bias, operand 2, may be omitted. */
bool glow_connection_infer(const glow_node *n, int axis, glow_type out[]);
int64_t glow_connection_flops(const glow_node *n);
void glow_connect(glow_tensor *const in[], const glow_tensor *out);
/* The same of quantized elements; `by_row`: Weights has a row for each result. */
void glow_connect_quantized(glow_tensor *const in[], const glow_tensor *out,
                            bool by_row, const glow_sums *sums);

#endif

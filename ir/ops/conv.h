/*
 * Checks of operands 0 to 2 and the sums, shared by Convolution and
 * FullyConnected with their fused forms.
 */

#ifndef IR_OPS_CONV_H
#define IR_OPS_CONV_H

#include "ir/ops/common.h"

bool glow_convolution_infer(const glow_node *n, const glow_convolution *c,
                            glow_type out[]);
int64_t glow_convolution_flops(const glow_node *n);
/* Sums in double; in[2] may be NULL. */
void glow_convolve(const glow_convolution *c, glow_tensor *const in[],
                   const glow_tensor *out);

/* The bias, operand 2, may be omitted. */
bool glow_connection_infer(const glow_node *n, int axis, glow_type out[]);
int64_t glow_connection_flops(const glow_node *n);
void glow_connect(glow_tensor *const in[], const glow_tensor *out);

#endif

/*
 * lower-dynamicrowwisequantizedfullyconnected: as DynamicQuantizedFullyConnected,
 * with a scale and an offset for each column of Weights.
 *
 *     %y = DynamicRowwiseQuantizedFullyConnected(%x, %w, %b, %t, %o)
 *         =>
 *     %q, %s as there
 *     %m = RowwiseQuantizedFullyConnected(%q, Transpose(%w), [1], %o, [0])
 *     %y = Dequantize(%m) * [%t] * [%s] + [%b]
 *
 * [..]: Splat or Broadcast.  Without IsSymmetric, %m is a MatMul of float64, whose
 * right operand is less %o.
 */

#include "lower/quantizedproduct.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_dynamic(b, n, n->in[3], n->in[4]);
}

const glow_pass glow_pass_lower_dynamicrowwisequantizedfullyconnected = {
    .name = "lower-dynamicrowwisequantizedfullyconnected",
    .summary = "express DynamicRowwiseQuantizedFullyConnected by Quantize and "
               "RowwiseQuantizedFullyConnected",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_dynamicrowwisequantizedfullyconnected,
    .rewrite = lower,
    .takes_quantized = true,
};

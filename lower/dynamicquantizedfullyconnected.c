/*
 * lower-dynamicquantizedfullyconnected: quantize by the range, multiply, scale.
 *
 *     %y = DynamicQuantizedFullyConnected(%x, %w, %b) {IsSymmetric: true}
 *         =>
 *     %r = Max([0], BatchedReduceMax(Abs(%x)))         of each row, or of all
 *     %s = Select(CmpEQ(%r / [127], [0]), [1], %r / [127])
 *     %q = Quantize(%x / [%s])        : i8[S:1 O:0]
 *     %m = MatMul(%q, %w)             : i32[S:scale of %w O:0]
 *     %y = Dequantize(%m) * [%s] + [%b]
 *
 *     %y = DynamicQuantizedFullyConnected(%x, %w, %b) {IsSymmetric: false}
 *         =>
 *     %l, %h = the least and the most of %x and 0
 *     %s = (%h - %l) / [255], or 1 where that is 0
 *     %z = Quantize([-128] - %l / %s) : i8[S:1 O:0]
 *     %q = the elements of %x / [%s], rounded, from -128 - %z to 127 - %z
 *     %v = IntLookupTable(%w)         : i32[S:1 O:0]   less the offset of %w
 *     %m = MatMul(%q, %v)             : float64
 *     %y = ConvertTo(%m) * [scale of %w] * [%s] + [%b]
 *
 * [..]: Splat or Broadcast.
 */

#include "lower/quantizedproduct.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_dynamic(b, n, NULL, NULL);
}

const glow_pass glow_pass_lower_dynamicquantizedfullyconnected = {
    .name = "lower-dynamicquantizedfullyconnected",
    .summary = "express DynamicQuantizedFullyConnected by Quantize and MatMul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_dynamicquantizedfullyconnected,
    .rewrite = lower,
    .takes_quantized = true,
};

/*
 * lower-layernormalizationgrad: write the formulas out.
 *
 *     %dx, %ds, %db = LayerNormalizationGrad(%x, %s, %d) {Axis: a, Epsilon: e}
 *         =>
 *     %c = %x - [BatchedReduceMean(%x) {Axes: a, ..}]      [..]: Broadcast to %x
 *     %r = [Sqrt(BatchedReduceMean(%c * %c) {Axes: a, ..} + e)]
 *     %z = %c / %r
 *     %db = BatchedReduceAdd(%d) {axes before a}
 *     %ds = BatchedReduceAdd(%d * %z) {axes before a}
 *     %e = %d * [%s]
 *     %k = BatchedReduceMean(%e * %z) {Axes: a, ..}
 *     %dx = (%e - [BatchedReduceMean(%e) {Axes: a, ..}] - %z * [%k]) / %r
 */

#include "lower/norm.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_row_gradient(b, n, true);
}

const glow_pass glow_pass_lower_layernormalizationgrad = {
    .name = "lower-layernormalizationgrad",
    .summary = "express LayerNormalizationGrad by means, sums and arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_layernormalizationgrad,
    .rewrite = lower,
    .source = "Ba, Kiros, Hinton, arXiv:1607.06450, section 3",
};

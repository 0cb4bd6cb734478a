/*
 * lower-rmsnormalizationgrad: as lower-layernormalizationgrad, without means of %x and %e.
 *
 *     %dx, %ds = RMSNormalizationGrad(%x, %s, %d) {Axis: a, Epsilon: e}
 *         =>
 *     %r = [Sqrt(BatchedReduceMean(%x * %x) {Axes: a, ..} + e)]   [..]: Broadcast to %x
 *     %z = %x / %r
 *     %ds = BatchedReduceAdd(%d * %z) {axes before a}
 *     %e = %d * [%s]
 *     %k = BatchedReduceMean(%e * %z) {Axes: a, ..}
 *     %dx = (%e - %z * [%k]) / %r
 */

#include "lower/norm.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_row_gradient(b, n, false);
}

const glow_pass glow_pass_lower_rmsnormalizationgrad = {
    .name = "lower-rmsnormalizationgrad",
    .summary = "express RMSNormalizationGrad by means, sums and arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_rmsnormalizationgrad,
    .rewrite = lower,
    .source = "Zhang, Sennrich, arXiv:1910.07467",
};

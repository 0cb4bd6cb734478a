/*
 * lower-fullyconnected: a matrix product and a bias.
 *
 *     %y = FullyConnected(%x, %w, %b) {Axis: a}
 *         =>
 *     %f = Reshape(%x)          : [M, K]     unless it is that already
 *     %m = MatMul(%f, %w)       : [M, N]
 *     %y = BatchedAdd(%m, %b)   : [M, N]
 *
 * The product is rounded before the bias is added.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int64_t rows = n->out[0]->type->shape.at[0];
    int64_t depth = n->in[1]->type->shape.at[0];
    glow_value *x = glow_build_reshape(b, n->in[0], GLOW_DIMS_OF(rows, depth));

    x = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x, n->in[1]));
    return GLOW_BUILD_PLAIN(b, batchedadd, GLOW_IN(x, n->in[2]));
}

const glow_pass glow_pass_lower_fullyconnected = {
    .name = "lower-fullyconnected",
    .summary = "express FullyConnected by MatMul and BatchedAdd",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_fullyconnected,
    .rewrite = lower,
    .source = "Rotem et al., Glow, arXiv:1805.00907, section 4",
};

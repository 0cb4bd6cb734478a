/*
 * lower-fusedfullyconnected: split a fused operator into its parts.
 *
 *     %y = FusedFullyConnected(%x, %w, %b, %a) {Axis: 1, Activation: Relu}
 *         =>
 *     %c = FullyConnected(%x, %w, %b) {Axis: 1}
 *     %s = Add(%c, %a)
 *     %y = Relu(%s)
 *
 * Without a bias the first is a Reshape, unless %x is a matrix, and a MatMul.
 */

#include "lower/common.h"

static glow_value *
product(glow_builder *b, const glow_node *n, int axis)
{
    int64_t rows = n->out[0]->type->shape.at[0];
    int64_t depth = n->in[1]->type->shape.at[0];
    glow_value *x;

    if (n->in[2])
        return GLOW_BUILD(b, fullyconnected,
                          GLOW_IN(n->in[0], n->in[1], n->in[2]), .axis = axis);
    x = glow_build_reshape(b, n->in[0], GLOW_DIMS_OF(rows, depth));
    return GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x, n->in[1]));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_fusedfullyconnected *f = n->attrs;

    return glow_lower_epilogue(b, product(b, n, f->axis), n->in[3],
                               f->activation, f->activation_args);
}

const glow_pass glow_pass_lower_fusedfullyconnected = {
    .name = "lower-fusedfullyconnected",
    .summary =
        "express FusedFullyConnected by FullyConnected, Add and the activation",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_fusedfullyconnected,
    .rewrite = lower,
};

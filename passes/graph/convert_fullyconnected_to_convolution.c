/*
 * convert-fullyconnected-to-convolution: a matrix product is a 1 x 1
 * convolution.
 *
 *     %y = FullyConnected(%x, %w, %b)           [M, K] x [K, N]
 *         =>
 *     %p = Reshape(%x)                          [M, 1, 1, K]
 *     %f = Reshape(Transpose(%w))               [N, 1, 1, K]
 *     %c = Convolution(%p, %f, %b)              [M, 1, 1, N]
 *     %y = Reshape(%c)
 *
 * For backends whose convolution is faster; not in any pipeline.
 * convert-convolution-to-fullyconnected is the inverse.  Constant weights are
 * transposed by fold-constants.
 */

#include "glow/ops.h"
#include "glow/pass.h"

static glow_value *
convert(glow_builder *b, glow_node *n)
{
    glow_dims w = n->in[1]->type->shape, y = n->out[0]->type->shape;
    glow_value *x, *f;

    if (n->pred || !glow_is_float(n->out[0]->type->elem))
        return NULL;
    x = GLOW_BUILD(b, reshape, GLOW_IN(n->in[0]),
                   .dims = GLOW_DIMS_OF(y.at[0], 1, 1, w.at[0]));
    f = GLOW_BUILD(b, transpose, GLOW_IN(n->in[1]),
                   .shuffle = GLOW_DIMS_OF(1, 0));
    f = GLOW_BUILD(b, reshape, GLOW_IN(f),
                   .dims = GLOW_DIMS_OF(w.at[1], 1, 1, w.at[0]));
    x = GLOW_BUILD(b, convolution, GLOW_IN(x, f, n->in[2]),
                   .kernels = GLOW_DIMS_OF(1, 1), .strides = GLOW_DIMS_OF(1, 1),
                   .pads = GLOW_DIMS_OF(0, 0, 0, 0), .group = 1);
    return GLOW_BUILD(b, reshape, GLOW_IN(x), .dims = y);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_fullyconnected, convert);
}

const glow_pass glow_pass_convert_fullyconnected_to_convolution = {
    .name = "convert-fullyconnected-to-convolution",
    .summary = "matrix products to 1 x 1 convolutions (opt-in)",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .doc = "For backends whose convolution is the faster one; in no pipeline.",
    .source = "Glow, ConvertFullyConnectedToConvolution",
};

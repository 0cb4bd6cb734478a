/*
 * convert-convolution-to-fullyconnected: a 1 x 1 convolution is a matrix
 * product.
 *
 *     %y = Convolution(%x, %f, %b) {Kernels: [1, ..], Strides: [1, ..]}
 *         =>
 *     %w = Transpose(Reshape(%f))                          [C, O]
 *     %m = FullyConnected(%x, %w, %b) {Axis: the channels}
 *     %y = Reshape(%m)
 *
 * without pads and groups.  Whatever the dilation, a window has one pixel.  An
 * omitted bias is 0.
 *
 * For backends that have no convolution, or a slower one; not in any pipeline.
 * convert-fullyconnected-to-convolution is the inverse.
 */

#include "glow/ops.h"
#include "glow/pass.h"

static glow_value *
convert(glow_builder *b, glow_node *n)
{
    const glow_convolution *c = n->attrs;
    glow_dims x = n->in[0]->type->shape, f = n->in[1]->type->shape;
    int64_t channels = x.at[x.rank - 1];
    glow_value *w, *y, *bias = n->in[2];

    if (n->pred || !glow_is_float(n->out[0]->type->elem) || c->group != 1 ||
        !glow_dims_are(c->kernels, 1) || !glow_dims_are(c->strides, 1) ||
        !glow_dims_are(c->pads, 0))
        return NULL;
    w = GLOW_BUILD(b, reshape, GLOW_IN(n->in[1]),
                   .dims = GLOW_DIMS_OF(f.at[0], channels));
    w = GLOW_BUILD(b, transpose, GLOW_IN(w), .shuffle = GLOW_DIMS_OF(1, 0));
    if (!bias) {
        glow_type t = glow_type_of(n->in[1]->type->elem, GLOW_DIMS_OF(f.at[0]));

        bias = glow_build_splat(b, "bias",
                                glow_type_get(glow_builder_context(b), t), 0);
    }
    y = GLOW_BUILD(b, fullyconnected, GLOW_IN(n->in[0], w, bias),
                   .axis = x.rank - 1);
    return GLOW_BUILD(b, reshape, GLOW_IN(y), .dims = n->out[0]->type->shape);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_convolution, convert);
}

const glow_pass glow_pass_convert_convolution_to_fullyconnected = {
    .name = "convert-convolution-to-fullyconnected",
    .summary = "1 x 1 convolutions to matrix products (opt-in)",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .doc = "For backends without a fast convolution; in no pipeline.",
    .source = "Glow, lowering of 1x1 convolutions",
};

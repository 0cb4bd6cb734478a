/*
 * convolution-to-product: write a convolution of single pixels as a matrix
 * product.
 *
 *     %y = Convolution(%x : [N, H, W, C], %f : [O, 1, 1, C], %b)
 *         =>
 *     %m = Reshape(%f)               : [O, C]
 *     %w = Transpose(%m)             : [C, O]
 *     %p = FullyConnected(%x, %w, %b) {Axis: 3} : [N H W, O]
 *     %y = Reshape(%p)               : [N, H, W, O]
 *
 * With one tap, no pads, no strides and one group, pixel m of the result is a
 * product of pixel m of the input with the filter: rows are pixels, however many
 * batches they are of.  Without a bias the product is MatMul.
 *
 * For backends whose products are better than their convolutions.  That is for
 * them to say, so no pipeline has this pass; on ours both take the same tiles, and
 * the reshape would stand in the way of what follows.  Afterwards no convolution
 * of that kind is left.  The way back, from a product to a convolution, is wanted
 * by no backend of ours, and not here.
 */

#include "glow/ops.h"
#include "glow/pass.h"

static bool
is_all(glow_dims list, int64_t number)
{
    for (int i = 0; i < list.rank; i++)
        if (list.at[i] != number)
            return false;
    return true;
}

static bool
is_pixelwise(const glow_node *n)
{
    const glow_convolution *c = n->attrs;

    return !n->pred && c->group == 1 && is_all(c->kernels, 1) &&
           is_all(c->strides, 1) && is_all(c->pads, 0);
}

/* [O, 1.., C] turned into [C, O]. */
static glow_value *
weights_of(glow_builder *b, glow_value *f)
{
    glow_dims s = f->type->shape;
    glow_value *m = GLOW_BUILD(b, reshape, GLOW_IN(f),
                               .dims = GLOW_DIMS_OF(s.at[0], s.at[s.rank - 1]));

    return GLOW_BUILD(b, transpose, GLOW_IN(m), .shuffle = GLOW_DIMS_OF(1, 0));
}

static glow_value *
visit(glow_builder *b, glow_node *n)
{
    glow_dims x = n->in[0]->type->shape;
    int last = x.rank - 1;
    glow_value *w, *y;

    if (!is_pixelwise(n))
        return NULL;
    w = weights_of(b, n->in[1]);
    if (n->in[2]) {
        y = GLOW_BUILD(b, fullyconnected, GLOW_IN(n->in[0], w, n->in[2]),
                       .axis = last);
    } else {
        glow_dims rows =
            GLOW_DIMS_OF(glow_dims_product(x, 0, last), x.at[last]);

        y = GLOW_BUILD(b, reshape, GLOW_IN(n->in[0]), .dims = rows);
        y = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(y, w));
    }
    return GLOW_BUILD(b, reshape, GLOW_IN(y), .dims = n->out[0]->type->shape);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_convolution, visit);
}

const glow_pass glow_pass_convolution_to_product = {
    .name = "convolution-to-product",
    .summary = "write a convolution of single pixels as a matrix product",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .doc = "In no pipeline: for backends whose products are better than their "
           "convolutions.",
    .source = "Glow lowering of 1x1 Convolution to FullyConnected",
};

/* Derivatives of products of matrices. */

#include "ir/derivatives/common.h"

#define TRANSPOSE(id)                              \
    const glow_derivative glow_derivative_##id = { \
        .transpose = id##_transpose,               \
    }

/* C = A B: the gradient by A is D B', that by B is A' D. */
static glow_value *
matmul_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *other =
        glow_grad_transpose(b, n->in[1 - i], GLOW_DIMS_OF(1, 0));

    return i == 0 ? GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(d, other))
                  : GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(other, d));
}
TRANSPOSE(matmul);

static glow_value *
batchmatmul_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_value *other =
        glow_grad_transpose(b, n->in[1 - i], GLOW_DIMS_OF(0, 2, 1));

    return i == 0 ? GLOW_BUILD_PLAIN(b, batchmatmul, GLOW_IN(d, other))
                  : GLOW_BUILD_PLAIN(b, batchmatmul, GLOW_IN(other, d));
}
TRANSPOSE(batchmatmul);

static glow_value *
fullyconnected_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_dims weights = n->in[1]->type->shape, rows;
    glow_value *w, *x;

    if (i == 2)
        return glow_grad_sum(b, d, GLOW_DIMS_OF(0));
    if (i == 0) {
        w = glow_grad_transpose(b, n->in[1], GLOW_DIMS_OF(1, 0));
        d = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(d, w));
        return glow_build_reshape(b, d, n->in[0]->type->shape);
    }
    rows = GLOW_DIMS_OF(d->type->shape.at[0], weights.at[0]);
    x = glow_build_reshape(b, n->in[0], rows);
    x = glow_grad_transpose(b, x, GLOW_DIMS_OF(1, 0));
    return GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x, d));
}
TRANSPOSE(fullyconnected);

static glow_value *
batchedadd_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)n;
    return i == 0 ? d : glow_grad_sum(b, d, GLOW_DIMS_OF(0));
}
TRANSPOSE(batchedadd);

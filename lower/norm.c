/* The gradient of a normalization of rows, written out as means, sums and arithmetic. */

#include "lower/norm.h"

/* The mean of each row, repeated along it. */
static glow_value *
row_mean(glow_builder *b, glow_value *v, glow_dims axes)
{
    glow_dims shape;

    if (!v)
        return NULL;
    shape = v->type->shape;
    v = GLOW_BUILD(b, batchedreducemean, GLOW_IN(v), .axes = axes);
    return glow_lower_spread(b, v, 0, shape);
}

static glow_dims
axes_between(int first, int end)
{
    glow_dims axes = {.rank = 0};

    for (int i = first; i < end; i++)
        axes.at[axes.rank++] = i;
    return axes;
}

/* The input gradient, where `z` is the normalized input and `r` its divisor. */
static glow_value *
by_input(glow_builder *b, glow_node *n, glow_value *z, glow_value *r,
         bool is_centred)
{
    int axis = ((const glow_layernormalizationgrad *)n->attrs)->axis;
    glow_value *e = n->in[2], *y;
    glow_dims shape = e->type->shape, axes = axes_between(axis, shape.rank);

    if (n->in[1])
        e = glow_build_mul(b, e, glow_lower_spread(b, n->in[1], axis, shape));
    y = row_mean(b, glow_build_mul(b, e, z), axes);
    y = glow_build_mul(b, z, y);
    if (is_centred)
        y = glow_build_add(b, y, row_mean(b, e, axes));
    return glow_build_div(b, glow_build_sub(b, e, y), r);
}

glow_value *
glow_lower_row_gradient(glow_builder *b, glow_node *n, bool is_centred)
{
    const glow_layernormalizationgrad *a = n->attrs;
    glow_value *x = n->in[0], *d = n->in[2], *z = x, *r, *y;
    glow_dims shape = x->type->shape, axes = axes_between(a->axis, shape.rank);
    glow_dims outer = axes_between(0, a->axis);

    if (is_centred)
        z = glow_build_sub(b, x, row_mean(b, x, axes));
    r = GLOW_BUILD(b, batchedreducemean, GLOW_IN(glow_build_mul(b, z, z)),
                   .axes = axes);
    r = glow_build_sqrt(b, glow_lower_plus(b, r, (double)a->epsilon));
    r = glow_lower_spread(b, r, 0, shape);
    z = glow_build_div(b, z, r);
    y = glow_build_mul(b, d, z);
    y = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(y), .axes = outer);
    glow_builder_replace(b, n, 1, y);
    if (is_centred)
        glow_builder_replace(
            b, n, 2,
            GLOW_BUILD(b, batchedreduceadd, GLOW_IN(d), .axes = outer));
    glow_builder_replace(b, n, 0, by_input(b, n, z, r, is_centred));
    return glow_keep_rewritten(n);
}

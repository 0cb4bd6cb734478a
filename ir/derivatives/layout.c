/* Derivatives of operators that move elements by position: what moved moves back. */

#include "ir/derivatives/common.h"

#define TRANSPOSE(id)                              \
    const glow_derivative glow_derivative_##id = { \
        .transpose = id##_transpose,               \
    }

static glow_value *
reshape_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    return glow_build_reshape(b, d, n->in[i]->type->shape);
}
TRANSPOSE(reshape);

static glow_value *
transpose_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_transpose *a = n->attrs;
    glow_dims back = a->shuffle;

    (void)i;
    for (int k = 0; k < back.rank; k++)
        back.at[a->shuffle.at[k]] = k;
    return glow_grad_transpose(b, d, back);
}
TRANSPOSE(transpose);

/* The sum along the axes that elements were repeated along. */
static glow_value *
broadcast_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_broadcast *a = n->attrs;
    glow_dims shape = n->in[i]->type->shape, axes = {.rank = 0};

    for (int k = 0; k < a->target_dim.rank; k++) {
        int from = k - a->axis;
        bool has = from >= 0 && from < shape.rank;

        if (!has || shape.at[from] != a->target_dim.at[k])
            axes.at[axes.rank++] = k;
    }
    return glow_build_reshape(b, glow_grad_sum(b, d, axes), shape);
}
TRANSPOSE(broadcast);

static glow_value *
concat_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_concat *a = n->attrs;
    glow_dims start = {.rank = d->type->shape.rank};

    for (int k = 0; k < i; k++)
        start.at[a->dim] += n->in[k]->type->shape.at[a->dim];
    return glow_grad_slice(b, d, start, (glow_dims){.rank = 0},
                           n->in[i]->type->shape);
}
TRANSPOSE(concat);

/* Big: 0 where Small was written.  Small: the sum over its copies. */
static glow_value *
inserttensor_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_inserttensor *a = n->attrs;
    glow_dims shape = n->in[1]->type->shape, box = shape;
    int64_t outer = glow_dims_product(shape, 0, a->axis);
    int64_t own = glow_dims_product(shape, a->axis, shape.rank);

    if (i == 0)
        return GLOW_BUILD(
            b, inserttensor, GLOW_IN(d, glow_grad_zeros(b, d, shape)),
            .start = a->start, .count = a->count, .axis = a->axis);
    box.at[a->axis] *= a->count;
    d = glow_grad_slice(b, d, a->start, (glow_dims){.rank = 0}, box);
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(outer, a->count, own));
    d = glow_grad_sum(b, d, GLOW_DIMS_OF(1));
    return glow_build_reshape(b, d, shape);
}
TRANSPOSE(inserttensor);

/* `d` with step - 1 zeros between two elements of `axis`, up to `size`. */
static glow_value *
spread(glow_builder *b, glow_value *d, int axis, int64_t step, int64_t size)
{
    glow_dims shape = d->type->shape;
    int64_t inner = glow_dims_product(shape, axis + 1, shape.rank);
    int64_t outer = glow_dims_product(shape, 0, axis), count = shape.at[axis];
    glow_dims rows = GLOW_DIMS_OF(outer, count, 1, inner);
    glow_dims gaps = GLOW_DIMS_OF(outer, count, step - 1, inner);
    glow_value *zeros;

    if (count <= 1)
        return d;
    d = glow_build_reshape(b, d, rows);
    zeros = d ? glow_grad_zeros(b, d, gaps) : NULL;
    d = GLOW_BUILD(b, concat, GLOW_IN(d, zeros), .dim = 2);
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(outer, count * step, inner));
    d = glow_grad_slice(b, d, GLOW_DIMS_OF(0, 0, 0), (glow_dims){.rank = 0},
                        GLOW_DIMS_OF(outer, size, inner));
    shape.at[axis] = size;
    return glow_build_reshape(b, d, shape);
}

/* `d`, put in order of ascending positions and spread, within zeros. */
static glow_value *
slice_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_slice *a = n->attrs;
    glow_dims shape = n->in[i]->type->shape, start = a->start;

    for (int k = 0; k < shape.rank && d; k++) {
        int64_t step = a->steps.rank ? a->steps.at[k] : 1;
        int64_t count = d->type->shape.at[k];

        if (step < 0) {
            d = GLOW_BUILD(b, flip, GLOW_IN(d), .axis = k);
            start.at[k] += (count - 1) * step;
            step = -step;
        }
        if (step > 1 && d)
            d = spread(b, d, k, step, (count - 1) * step + 1);
    }
    if (!d || glow_dims_equal(d->type->shape, shape))
        return d;
    return GLOW_BUILD(b, inserttensor, GLOW_IN(glow_grad_zeros(b, d, shape), d),
                      .start = start, .count = 1, .axis = 0);
}
TRANSPOSE(slice);

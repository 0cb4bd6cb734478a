/*
 * Derivatives of operators that move elements by number.
 *
 * Elements that were taken several times get the sum of their gradients, added in the
 * order of the indices; the least of them is a row of Slices.
 */

#include "ir/derivatives/common.h"

#define TRANSPOSE(id)                              \
    const glow_derivative glow_derivative_##id = { \
        .transpose = id##_transpose,               \
    }

/* A constant of `count` integers 0, step, 2 step, ..., each `times` times. */
static glow_value *
ramp(glow_builder *b, const glow_value *like, int64_t count, int64_t times,
     int64_t step)
{
    const glow_type *type = glow_type_get(
        glow_builder_context(b),
        glow_type_of(like->type->elem, GLOW_DIMS_OF(count * times, 1)));
    glow_value *v = glow_build_constant(b, "ramp", type);

    for (int64_t i = 0; v && i < count * times; i++)
        glow_set_int(&v->storage->tensor, i, i / times * step);
    return v;
}

/* `indices` as a column of row numbers of all `batches` times `size` rows. */
static glow_value *
row_numbers(glow_builder *b, glow_value *indices, int64_t batches, int64_t size)
{
    int64_t count = glow_type_count(indices->type);
    glow_value *rows = glow_build_reshape(b, indices, GLOW_DIMS_OF(count, 1));
    glow_value *from_end;

    if (!rows || batches <= 1)
        return rows;
    from_end = glow_grad_below(b, rows, glow_grad_number(b, rows, 0));
    rows = glow_build_select(b, from_end, glow_grad_plus(b, (double)size, rows),
                             rows);
    return glow_build_add(b, rows,
                          ramp(b, rows, batches, count / batches, size));
}

/* The axes of `d` with those of the indices, from `at` on, after the batch. */
static glow_dims
indices_first(int rank, int batch, int at, int count)
{
    glow_dims order = {.rank = 0};

    for (int k = 0; k < batch; k++)
        order.at[order.rank++] = k;
    for (int k = 0; k < count; k++)
        order.at[order.rank++] = at + k;
    for (int k = batch; k < at; k++)
        order.at[order.rank++] = k;
    for (int k = at + count; k < rank; k++)
        order.at[order.rank++] = k;
    return order;
}

/*
 * Data is [b, i, n, k] and `d` is [b, i, j, k].  The rows of i and k elements of `d`
 * are added to those of a tensor [b, n, i, k] of zeros.
 */
static glow_value *
gather_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_gather *a = n->attrs;
    glow_dims shape = n->in[0]->type->shape, moved = shape, back = shape;
    int batch = a->batch_dims, axis = a->axis;
    int per = n->in[1]->type->shape.rank - batch;
    int64_t batches = glow_dims_product(shape, 0, batch);
    int64_t size = shape.at[axis], row;
    glow_value *rows;

    if (i != 0 || glow_type_count(d->type) == 0)
        return NULL;
    row = glow_type_count(n->in[0]->type) / batches / size;
    d = glow_grad_transpose(
        b, d, indices_first(d->type->shape.rank, batch, axis, per));
    d = glow_build_reshape(b, d,
                           GLOW_DIMS_OF(glow_type_count(n->in[1]->type), row));
    if (!d)
        return NULL;
    rows = glow_grad_zeros(b, d, GLOW_DIMS_OF(batches * size, row));
    d = GLOW_BUILD(b, scatterdata,
                   GLOW_IN(rows, row_numbers(b, n->in[1], batches, size), d),
                   .reduction = GLOW_SCATTER_ADD);
    for (int k = batch; k < axis; k++)
        moved.at[k + 1] = shape.at[k];
    moved.at[batch] = size;
    d = glow_build_reshape(b, d, moved);
    for (int k = 0; k < back.rank; k++)
        back.at[k] = k < batch || k > axis ? k : k == axis ? batch : k + 1;
    return glow_grad_transpose(b, d, back);
}
TRANSPOSE(gather);

/* As by Gather, but 0 for the row PadIdx. */
static glow_value *
embedding_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_embedding *e = n->attrs;
    glow_dims shape = n->in[0]->type->shape;
    int64_t count = glow_type_count(n->in[1]->type);
    glow_value *rows, *zeros;

    if (i != 0 || glow_type_count(d->type) == 0)
        return NULL;
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(count, shape.at[1]));
    rows = glow_build_reshape(b, n->in[1], GLOW_DIMS_OF(count, 1));
    d = GLOW_BUILD(b, scatterdata,
                   GLOW_IN(glow_grad_zeros(b, d, shape), rows, d),
                   .reduction = GLOW_SCATTER_ADD);
    if (e->pad_idx < 0 || !d)
        return d;
    zeros = glow_grad_zeros(b, d, GLOW_DIMS_OF(1, shape.at[1]));
    return GLOW_BUILD(b, inserttensor, GLOW_IN(d, zeros),
                      .start = GLOW_DIMS_OF(e->pad_idx, 0), .count = 1);
}
TRANSPOSE(embedding);

/* Bool, a value for each slice: no later slice replaced it. */
static glow_value *
is_last(glow_builder *b, glow_node *n)
{
    glow_value *indices = n->in[1], *numbers, *at;
    glow_dims places = n->in[0]->type->shape, shape = indices->type->shape;
    int64_t count;

    places.rank = (int)shape.at[shape.rank - 1];
    shape.rank--;
    count = glow_dims_count(shape);
    numbers = glow_build_reshape(b, ramp(b, indices, count, 1, 1), shape);
    at = glow_grad_zeros(b, indices, places);
    at = GLOW_BUILD(b, scatterdata, GLOW_IN(at, indices, numbers),
                    .reduction = GLOW_SCATTER_NONE);
    at = GLOW_BUILD(b, gathernd, GLOW_IN(at, indices), .batch_dims = 0);
    return glow_grad_equal(b, at, numbers);
}

static glow_value *
scatterdata_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_scatterdata *a = n->attrs;
    bool adds = a->reduction == GLOW_SCATTER_ADD;
    glow_value *slices = n->in[2], *last;
    glow_dims shape = slices->type->shape;
    int first = n->in[1]->type->shape.rank - 1;

    if (i == 0 && adds)
        return d;
    if (i == 0)
        return GLOW_BUILD(b, scatterdata,
                          GLOW_IN(d, n->in[1], glow_grad_zeros(b, d, shape)),
                          .reduction = GLOW_SCATTER_NONE);
    d = GLOW_BUILD(b, gathernd, GLOW_IN(d, n->in[1]), .batch_dims = 0);
    if (adds)
        return d;
    last = glow_grad_repeat(b, is_last(b, n), glow_grad_axes(first, shape.rank),
                            shape);
    return glow_grad_where(b, last, d);
}

static const char *
scatterdata_refuses(const glow_node *n)
{
    const glow_scatterdata *a = n->attrs;

    return a->reduction == GLOW_SCATTER_ADD || a->reduction == GLOW_SCATTER_NONE
               ? NULL
               : "with a Reduction other than none and add";
}

const glow_derivative glow_derivative_scatterdata = {
    .transpose = scatterdata_transpose,
    .refuses = scatterdata_refuses,
};

/*
 * Derivatives of resizing.
 *
 * ResizeNearest and ResizeBilinear are one sparse matrix for each axis, with one or two
 * elements in a row.  The transposes of these matrices are applied one after the other:
 * the slices of the gradient along the axis are added to rows of zeros.
 */

#include "ir/derivatives/common.h"
#include "ir/ops/resize.h"

/* The matrix of an axis: row i has 1 - part[i] at low[i], part[i] at high[i]. */
typedef struct axis_matrix {
    int64_t size; /* rows */
    int64_t *low, *high;
    double *part;
    bool is_identity, has_parts;
} axis_matrix;

static axis_matrix
matrix_of(const glow_node *n, int axis, bool nearest, glow_arena *a)
{
    const glow_grid *r = n->attrs;
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    bool moves = nearest || glow_is_resized(r, x, y, axis);
    axis_matrix m = {.size = y.at[axis]};

    m.low = GLOW_NEW_ARRAY(a, int64_t, m.size);
    m.high = GLOW_NEW_ARRAY(a, int64_t, m.size);
    m.part = GLOW_NEW_ARRAY(a, double, m.size);
    m.is_identity = x.at[axis] == m.size;
    for (int64_t i = 0; i < m.size; i++) {
        double at = nearest ? (double)glow_resize_nearest(r, x, y, axis, i)
                    : moves ? glow_resize_at(r, x, y, axis, i)
                            : (double)i;

        m.low[i] = (int64_t)at;
        m.high[i] = m.low[i] + (m.low[i] + 1 < x.at[axis]);
        m.part[i] = at - (double)m.low[i];
        m.is_identity &= at == (double)i;
        m.has_parts |= m.part[i] != 0;
    }
    return m;
}

/* The slices of `d`, each times its weight (NULL: 1), added to the rows `at`. */
static glow_value *
add_to_rows(glow_builder *b, glow_value *rows, glow_value *d, const int64_t *at,
            const double *weight)
{
    glow_context *ctx = glow_builder_context(b);
    int64_t count = d->type->shape.at[0];
    glow_type column = glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(count, 1));
    glow_type list = glow_type_of(d->type->elem, GLOW_DIMS_OF(count));
    glow_value *index =
        glow_build_constant(b, "rows", glow_type_get(ctx, column));
    glow_value *w =
        weight ? glow_build_constant(b, "weights", glow_type_get(ctx, list))
               : NULL;

    for (int64_t i = 0; index && i < count; i++)
        glow_set_int(&index->storage->tensor, i, at[i]);
    for (int64_t i = 0; w && i < count; i++)
        glow_set_double(&w->storage->tensor, i, weight[i]);
    if (weight)
        d = glow_build_mul(
            b, d, glow_grad_repeat(b, w, GLOW_DIMS_OF(1), d->type->shape));
    return GLOW_BUILD(b, scatterdata, GLOW_IN(rows, index, d),
                      .reduction = GLOW_SCATTER_ADD);
}

/* The transpose of `m` times `d`, a matrix whose rows are slices along the axis. */
static glow_value *
apply_transposed(glow_builder *b, const axis_matrix *m, glow_value *d,
                 int64_t size)
{
    glow_value *rows =
        glow_grad_zeros(b, d, GLOW_DIMS_OF(size, d->type->shape.at[1]));
    double *rest;

    if (!m->has_parts)
        return add_to_rows(b, rows, d, m->low, NULL);
    rest = GLOW_NEW_ARRAY(glow_builder_scratch(b), double, m->size);
    for (int64_t i = 0; i < m->size; i++)
        rest[i] = 1 - m->part[i];
    rows = add_to_rows(b, rows, d, m->low, rest);
    return add_to_rows(b, rows, d, m->high, m->part);
}

static glow_value *
resize_axis(glow_builder *b, const glow_node *n, int axis, bool nearest,
            glow_value *d)
{
    axis_matrix m = matrix_of(n, axis, nearest, glow_builder_scratch(b));
    int64_t size = n->in[0]->type->shape.at[axis];
    glow_dims order = {.rank = 0}, back, moved;

    if (m.is_identity || !d)
        return d;
    order = back = moved = d->type->shape;
    for (int k = 0; k < order.rank; k++) {
        order.at[k] = k == 0 ? axis : k <= axis ? k - 1 : k;
        back.at[k] = k == axis ? 0 : k < axis ? k + 1 : k;
        moved.at[k] = d->type->shape.at[order.at[k]];
    }
    if (axis > 0)
        d = glow_grad_transpose(b, d, order);
    d = glow_build_reshape(
        b, d, GLOW_DIMS_OF(m.size, glow_dims_product(moved, 1, moved.rank)));
    if (!d)
        return NULL;
    d = apply_transposed(b, &m, d, size);
    moved.at[0] = size;
    d = glow_build_reshape(b, d, moved);
    return axis > 0 ? glow_grad_transpose(b, d, back) : d;
}

static glow_value *
resize_transpose(glow_builder *b, glow_node *n, bool nearest, glow_value *d)
{
    if (glow_type_count(d->type) == 0)
        return NULL;
    for (int axis = 0; axis < n->out[0]->type->shape.rank; axis++)
        d = resize_axis(b, n, axis, nearest, d);
    return d;
}

static glow_value *
resizenearest_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)i;
    return resize_transpose(b, n, true, d);
}
const glow_derivative glow_derivative_resizenearest = {
    .transpose = resizenearest_transpose,
};

static glow_value *
resizebilinear_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    (void)i;
    return resize_transpose(b, n, false, d);
}
const glow_derivative glow_derivative_resizebilinear = {
    .transpose = resizebilinear_transpose,
};

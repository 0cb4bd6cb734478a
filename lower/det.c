/*
 * lower-det: Gaussian elimination with partial pivoting, of all matrices at
 * once.
 *
 *     %p = ArgMax(Abs(first column))                 the pivot's row     [B]
 *     %r = Gather(%x, %p) {BatchDims: 1}             that row            [B, 1, M]
 *     %y = the other rows: the first one takes the place of the pivot's
 *     %x' = %y - MatMul(column of %y / pivot, %r), without the column
 *     %det = %det * pivot, negative if rows changed places
 *
 * All in float64, as the evaluator computes it, because the last pivots of a
 * nearly singular matrix are mostly rounding errors.  M steps, each of a fixed
 * number of nodes, whatever the batch.  A column of zeros has the pivot 0; the
 * division takes 1 in its place.
 */

#include "lower/common.h"

typedef struct matrices {
    glow_builder *b;
    int64_t batch, size;
    glow_value *x; /* [B, M, M] */
} matrices;

static glow_value *
type_like(const matrices *m, glow_dims shape, double v)
{
    glow_type t = glow_type_of(m->x->type->elem, shape);

    return glow_lower_splat(m->b, glow_type_get(glow_builder_context(m->b), t),
                            v);
}

/* Numbers of rows, [M]. */
static glow_value *
row_numbers(const matrices *m)
{
    glow_value *v = glow_build_constant(
        m->b, "rows",
        glow_type_get(glow_builder_context(m->b),
                      glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(m->size))));

    for (int64_t i = 0; v && i < m->size; i++)
        glow_set_int(&v->storage->tensor, i, i);
    return v;
}

/* The rows without the pivot's, [B, M - 1, M]; `at` is the pivot's row, [B]. */
static glow_value *
other_rows(const matrices *m, glow_value *at)
{
    glow_builder *b = m->b;
    glow_dims all = GLOW_DIMS_OF(m->batch, m->size, m->size);
    glow_dims rows = GLOW_DIMS_OF(m->batch, m->size);
    glow_value *number = glow_lower_spread(b, row_numbers(m), 1, rows);
    glow_value *is_pivot, *first, *y;

    at = glow_lower_spread(b, at, 0, rows);
    is_pivot = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(number, at));
    is_pivot = glow_lower_spread(b, is_pivot, 0, all);
    first = glow_lower_spread(b, glow_lower_cut(b, m->x, 1, 0, 1), 0, all);
    y = glow_build_select(b, is_pivot, first, m->x);
    return glow_lower_cut(b, y, 1, 1, m->size - 1);
}

/* Eliminates one column; returns the factor of the determinant, [B]. */
static glow_value *
eliminate(matrices *m)
{
    glow_builder *b = m->b;
    int64_t rest = m->size - 1;
    glow_dims each = GLOW_DIMS_OF(m->batch);
    glow_value *column = glow_lower_cut(b, m->x, 2, 0, 1);
    glow_value *at, *row, *pivot, *y, *one, *zero, *is_zero, *moved, *safe;

    column = glow_build_reshape(b, column, GLOW_DIMS_OF(m->batch, m->size));
    column = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(column));
    at = GLOW_BUILD(b, argmax, GLOW_IN(column), .axis = 1);
    row = GLOW_BUILD(
        b, gather,
        GLOW_IN(m->x, glow_build_reshape(b, at, GLOW_DIMS_OF(m->batch, 1))),
        .axis = 1, .batch_dims = 1);
    pivot = glow_build_reshape(b, glow_lower_cut(b, row, 2, 0, 1), each);
    y = other_rows(m, at);

    /* Divide by the pivot. */
    zero = type_like(m, each, 0);
    one = type_like(m, each, 1);
    is_zero = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(pivot, zero));
    safe = glow_build_select(b, is_zero, one, pivot);
    safe = glow_lower_spread(b, safe, 0, GLOW_DIMS_OF(m->batch, rest, 1));
    column = glow_build_div(b, glow_lower_cut(b, y, 2, 0, 1), safe);

    /* The remaining matrices, one row and column smaller. */
    row = glow_lower_cut(b, row, 2, 1, rest);
    column = GLOW_BUILD_PLAIN(b, batchmatmul, GLOW_IN(column, row));
    y = glow_lower_cut(b, y, 2, 1, rest);
    m->x = glow_build_sub(b, y, column);

    /* The factor: the pivot, negated if rows were exchanged. */
    zero = glow_lower_splat(b, at ? at->type : NULL, 0);
    moved = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(at, zero));
    y = glow_build_neg(b, pivot);
    return glow_build_select(b, moved, pivot, y);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_dims s = n->in[0]->type->shape, y = n->out[0]->type->shape;
    int64_t size = s.at[s.rank - 1], batch = glow_dims_count(y);
    matrices m = {.b = b, .batch = batch, .size = size, .x = n->in[0]};
    glow_value *product = NULL;

    if (size == 0)
        return glow_lower_splat(b, n->out[0]->type, 1);
    m.x = glow_lower_convert(b, m.x, GLOW_FLOAT64);
    m.x = glow_build_reshape(b, m.x, GLOW_DIMS_OF(batch, size, size));
    for (; m.size > 1 && !glow_builder_failed(b); m.size--) {
        glow_value *by = eliminate(&m);

        product = product ? glow_build_mul(b, product, by) : by;
    }
    m.x = glow_build_reshape(b, m.x, GLOW_DIMS_OF(batch));
    product = product ? glow_build_mul(b, product, m.x) : m.x;
    product = glow_build_reshape(b, product, y);
    return glow_lower_convert(b, product, n->in[0]->type->elem);
}

const glow_pass glow_pass_lower_det = {
    .name = "lower-det",
    .summary = "express Det by steps of elimination",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_det,
    .rewrite = lower,
    .source = "Golub, Van Loan, Matrix Computations, section 3.4",
};

/* Derivatives of sums, products and extrema along axes. */

#include "ir/derivatives/common.h"

#define TRANSPOSE(id)                              \
    const glow_derivative glow_derivative_##id = { \
        .transpose = id##_transpose,               \
    }
#define GRADIENT(id)                               \
    const glow_derivative glow_derivative_##id = { \
        .gradient = id##_gradient,                 \
    }

static glow_value *
batchedreduceadd_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_batchedreduceadd *a = n->attrs;

    return glow_grad_repeat(b, d, a->axes, n->in[i]->type->shape);
}
TRANSPOSE(batchedreduceadd);

static glow_value *
batchedreducemean_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_batchedreducemean *a = n->attrs;
    double count = 1;

    for (int k = 0; k < a->axes.rank; k++)
        count *= (double)n->in[i]->type->shape.at[a->axes.at[k]];
    d = glow_build_div(b, d, glow_grad_number(b, d, count));
    return glow_grad_repeat(b, d, a->axes, n->in[i]->type->shape);
}
TRANSPOSE(batchedreducemean);

static glow_value *
cumsum_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_cumsum *a = n->attrs;

    (void)i;
    return GLOW_BUILD(b, cumsum, GLOW_IN(d), .dim = a->dim,
                      .exclusive = a->exclusive, .reverse = !a->reverse);
}
TRANSPOSE(cumsum);

/* Element k becomes v[k + by], with `backwards` v[k - by], or 0 beyond the axis. */
static glow_value *
shifted(glow_builder *b, glow_value *v, int axis, int64_t by, bool backwards)
{
    glow_dims start, kept, rest;
    glow_value *zeros;

    if (!v)
        return NULL;
    kept = rest = v->type->shape;
    if (by >= kept.at[axis])
        return glow_grad_zeros(b, v, kept);
    start = (glow_dims){.rank = kept.rank};
    start.at[axis] = backwards ? 0 : by;
    kept.at[axis] -= by;
    rest.at[axis] = by;
    zeros = glow_grad_zeros(b, v, rest);
    v = glow_grad_slice(b, v, start, (glow_dims){.rank = 0}, kept);
    return backwards ? GLOW_BUILD(b, concat, GLOW_IN(zeros, v), .dim = axis)
                     : GLOW_BUILD(b, concat, GLOW_IN(v, zeros), .dim = axis);
}

/*
 * With P[k] the product of the elements before x[k], d x[k] is P[k] S[k], where
 *
 *     S[k] = e[k] + a[k] S[k + 1],  a[k] = x[k + 1],  e[k] = d[k]; Exclusive: d[k + 1].
 *
 * No quotients, so elements may be 0.  The recurrence is solved in log2 of the size
 * steps of doubling distance (Hillis and Steele, 1986).
 */
static bool
cumprod_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_cumprod *c = g->node->attrs;
    glow_value *x = g->node->in[0], *e = g->by_result[0], *a;
    int64_t size = x->type->shape.at[c->dim];

    if (glow_type_count(x->type) == 0)
        return true;
    a = shifted(b, x, c->dim, 1, c->reverse);
    if (c->exclusive)
        e = shifted(b, e, c->dim, 1, c->reverse);
    for (int64_t step = 1; step < size; step *= 2) {
        e = glow_build_add(
            b, e,
            glow_build_mul(b, a, shifted(b, e, c->dim, step, c->reverse)));
        a = glow_build_mul(b, a, shifted(b, a, c->dim, step, c->reverse));
    }
    x = GLOW_BUILD(b, cumprod, GLOW_IN(x), .dim = c->dim, .exclusive = true,
                   .reverse = c->reverse);
    g->by_operand[0] = glow_build_mul(b, x, e);
    return g->by_operand[0];
}
GRADIENT(cumprod);

/* d x / y, and 0 where y is 0. */
static bool
reducel2_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_reducel2 *a = g->node->attrs;
    glow_value *x = g->node->in[0], *y = g->node->out[0], *q;

    q = glow_build_div(b, g->by_result[0], y);
    y = glow_grad_is(b, y, 0);
    q = glow_build_select(b, y, glow_grad_number(b, q, 0), q);
    q = glow_grad_repeat(b, q, a->axes, x->type->shape);
    g->by_operand[0] = glow_build_mul(b, x, q);
    return g->by_operand[0];
}
GRADIENT(reducel2);

/* d e^(x - y): the SoftMax, from the result. */
static bool
reducelogsumexp_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_reducelogsumexp *a = g->node->attrs;
    glow_value *x = g->node->in[0], *y = g->node->out[0];
    glow_dims shape = x->type->shape;
    glow_value *p =
        glow_build_sub(b, x, glow_grad_repeat(b, y, a->axes, shape));

    p = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(p));
    g->by_operand[0] = glow_build_mul(
        b, p, glow_grad_repeat(b, g->by_result[0], a->axes, shape));
    return g->by_operand[0];
}
GRADIENT(reducelogsumexp);

/* Shared evenly by the elements that are equal to the result. */
static bool
extremum_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_reduce *a = g->node->attrs;
    glow_value *x = g->node->in[0], *y = g->node->out[0];
    glow_value *d = g->by_result[0], *is_one, *count;
    glow_dims shape = x->type->shape;

    is_one = glow_grad_equal(b, x, glow_grad_repeat(b, y, a->axes, shape));
    count = glow_grad_where(b, is_one, glow_grad_number(b, x, 1));
    d = glow_build_div(b, d, glow_grad_sum(b, count, a->axes));
    d = glow_grad_repeat(b, d, a->axes, shape);
    g->by_operand[0] = glow_grad_where(b, is_one, d);
    return g->by_operand[0];
}

const glow_derivative glow_derivative_batchedreducemax = {
    .gradient = extremum_gradient,
};
const glow_derivative glow_derivative_batchedreducemin = {
    .gradient = extremum_gradient,
};

/* All axes but `axes` in order, then these. */
static glow_dims
reduced_last(int rank, glow_dims axes)
{
    glow_dims order = {.rank = 0};

    for (int k = 0, next = 0; k < rank; k++) {
        if (next < axes.rank && axes.at[next] == k)
            next++;
        else
            order.at[order.rank++] = k;
    }
    for (int k = 0; k < axes.rank; k++)
        order.at[order.rank++] = axes.at[k];
    return order;
}

/*
 * The product of the elements before one and that of the elements behind it, not the
 * quotient of the result and the element, which may be 0.
 */
static bool
batchedreduceprod_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_batchedreduceprod *a = g->node->attrs;
    glow_value *x = g->node->in[0], *d = g->by_result[0], *before, *after;
    glow_dims shape = x->type->shape, order, back, moved = shape;
    int64_t many = 1, rows;

    for (int k = 0; k < a->axes.rank; k++)
        many *= shape.at[a->axes.at[k]];
    rows = glow_type_count(d->type);
    order = reduced_last(shape.rank, a->axes);
    x = glow_grad_transpose(b, x, order);
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(rows, many));
    before = GLOW_BUILD(b, cumprod, GLOW_IN(x), .dim = 1, .exclusive = true);
    after = GLOW_BUILD(b, cumprod, GLOW_IN(x), .dim = 1, .exclusive = true,
                       .reverse = true);
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(rows));
    d = glow_grad_repeat(b, d, GLOW_DIMS_OF(1), GLOW_DIMS_OF(rows, many));
    d = glow_build_mul(b, d, glow_build_mul(b, before, after));
    back = order;
    for (int k = 0; k < shape.rank; k++) {
        moved.at[k] = shape.at[order.at[k]];
        back.at[order.at[k]] = k;
    }
    d = glow_grad_transpose(b, glow_build_reshape(b, d, moved), back);
    g->by_operand[0] = d;
    return d;
}
GRADIENT(batchedreduceprod);

static glow_value *
sum_along(glow_builder *b, glow_value *v, int axis, glow_dims shape)
{
    glow_dims axes = GLOW_DIMS_OF(axis);

    return glow_grad_repeat(b, glow_grad_sum(b, v, axes), axes, shape);
}

/* y (d - sum of d y). */
static bool
softmax_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_softmax *a = g->node->attrs;
    glow_value *y = g->node->out[0], *d = g->by_result[0];
    glow_value *sum =
        sum_along(b, glow_build_mul(b, d, y), a->axis, y->type->shape);

    g->by_operand[0] = glow_build_mul(b, y, glow_build_sub(b, d, sum));
    return g->by_operand[0];
}
GRADIENT(softmax);

/* d - e^y times the sum of d: never the logarithm of a SoftMax. */
static bool
logsoftmax_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_logsoftmax *a = g->node->attrs;
    glow_value *y = g->node->out[0], *d = g->by_result[0];
    glow_value *sum = sum_along(b, d, a->axis, y->type->shape);
    glow_value *p = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(y));

    g->by_operand[0] = glow_build_sub(b, d, glow_build_mul(b, p, sum));
    return g->by_operand[0];
}
GRADIENT(logsoftmax);

/* Where Indices say that the elements were. */
static bool
topk_gradient(glow_builder *b, const glow_gradient *g)
{
    glow_node *n = g->node;
    glow_dims shape = n->in[0]->type->shape;
    glow_value *d = g->by_result[0];

    if (!d)
        return true;
    g->by_operand[0] = GLOW_BUILD(
        b, scatterelements, GLOW_IN(glow_grad_zeros(b, d, shape), n->out[1], d),
        .dim = shape.rank - 1, .reduction = GLOW_SCATTER_ADD);
    return g->by_operand[0];
}
GRADIENT(topk);

/*
 * lower-einsum: products of two operands at a time, from the left.
 *
 *     %y = Einsum([%a, %b]) {Equation: "bij,bjk->bik"}
 *         =>
 *     each operand: axes of one element dropped that are repeated, diagonals
 *         taken (Gather), axes summed that no other operand and not the result
 *         has (BatchedReduceAdd)
 *     two of them, as [batch, left, summed] and [batch, summed, right]:
 *         BatchMatMul; MatMul without a batch; Mul where all is batch
 *     the last: its axes in the order of the result (Transpose)
 *
 * Left alone where an intermediate result has more axes than a tensor can have.
 */

#include "lower/common.h"

typedef struct term {
    glow_value *v;
    int rank, label[GLOW_MAX_RANK];
} term;

typedef struct labels { /* an ordered set */
    int count, at[GLOW_EINSUM_LABELS];
} labels;

static bool
has(const term *t, int label)
{
    for (int i = 0; i < t->rank; i++)
        if (t->label[i] == label)
            return true;
    return false;
}

static void
add(labels *l, int label)
{
    l->at[l->count++] = label;
}

/* True if `label` occurs in the result, or in an operand from `first` on. */
static bool
is_needed(const glow_einsum_plan *p, int label, int first)
{
    for (int k = 0; k < p->out_rank; k++)
        if (p->out[k] == label)
            return true;
    for (int i = first; i < p->n_in; i++)
        for (int k = 0; k < p->rank[i]; k++)
            if (p->label[i][k] == label)
                return true;
    return false;
}

/* Permutes the axes of `t`: axis i becomes axis order[i] of before. */
static void
permute(glow_builder *b, term *t, const int *order)
{
    glow_dims shuffle = {.rank = t->rank};
    term was = *t;
    bool moves = false;

    for (int i = 0; i < t->rank; i++) {
        shuffle.at[i] = order[i];
        t->label[i] = was.label[order[i]];
        moves |= order[i] != i;
    }
    if (moves && t->v)
        t->v = GLOW_BUILD(b, transpose, GLOW_IN(t->v), .shuffle = shuffle);
}

/*
 * Permutes the axes of `t` to the order of the labels `l`, which are all
 * different.
 */
static void
arrange(glow_builder *b, term *t, const labels *l)
{
    int order[GLOW_MAX_RANK];

    for (int i = 0; i < l->count && i < t->rank; i++)
        for (int k = 0; k < t->rank; k++)
            if (t->label[k] == l->at[i])
                order[i] = k;
    permute(b, t, order);
}

/*
 * Drops axes of one element whose label has a larger size in another operand.
 */
static void
drop_repeated(glow_builder *b, const glow_einsum_plan *p, term *t)
{
    glow_dims from = t->v->type->shape, to = {0};
    int kept = 0;

    for (int i = 0; i < t->rank; i++)
        if (from.at[i] == p->size[t->label[i]]) {
            to.at[to.rank++] = from.at[i];
            t->label[kept++] = t->label[i];
        }
    t->rank = kept;
    t->v = glow_build_reshape(b, t->v, to);
}

/* Every (n + 1)-th of n n elements. */
static glow_value *
diagonal_positions(glow_builder *b, int64_t n)
{
    glow_value *v = glow_build_constant(
        b, "diagonal",
        glow_type_get(glow_builder_context(b),
                      glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(n))));

    for (int64_t i = 0; v && i < n; i++)
        glow_set_int(&v->storage->tensor, i, i * (n + 1));
    return v;
}

/*
 * Replaces axes i and k, which share a label, by their diagonal, as the last
 * axis.
 */
static void
take_diagonal(glow_builder *b, term *t, int i, int k)
{
    int order[GLOW_MAX_RANK], at = 0;
    glow_dims flat = {0};
    int64_t size;

    for (int j = 0; j < t->rank; j++)
        if (j != i && j != k)
            order[at++] = j;
    order[at++] = i;
    order[at] = k;
    permute(b, t, order);
    if (!t->v)
        return;
    flat = t->v->type->shape;
    size = flat.at[--flat.rank];
    flat.at[flat.rank - 1] *= size;
    t->v = glow_build_reshape(b, t->v, flat);
    t->v = GLOW_BUILD(b, gather, GLOW_IN(t->v, diagonal_positions(b, size)),
                      .axis = flat.rank - 1);
    t->rank--;
}

static void
take_diagonals(glow_builder *b, term *t)
{
    for (int i = 0; i < t->rank; i++)
        for (int k = i + 1; k < t->rank; k++)
            if (t->label[i] == t->label[k]) {
                take_diagonal(b, t, i, k);
                i = -1;
                break;
            }
}

/* Operand i, ready for its product: repeated axes dropped, diagonals taken. */
static term
operand(glow_builder *b, const glow_node *n, const glow_einsum_plan *p, int i)
{
    term t = {.v = n->in[i], .rank = p->rank[i]};

    for (int k = 0; k < t.rank; k++)
        t.label[k] = p->label[i][k];
    drop_repeated(b, p, &t);
    take_diagonals(b, &t);
    return t;
}

/*
 * Sums over axes whose label neither `with`, an operand from `later` on, nor
 * the result has.
 */
static void
sum_others(glow_builder *b, const glow_einsum_plan *p, term *t,
           const term *with, int later)
{
    glow_dims axes = {0};
    int kept = 0;

    for (int k = 0; k < t->rank; k++)
        if ((with && has(with, t->label[k])) ||
            is_needed(p, t->label[k], later))
            t->label[kept++] = t->label[k];
        else
            axes.at[axes.rank++] = k;
    t->rank = kept;
    if (axes.rank && t->v)
        t->v = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(t->v), .axes = axes);
}

/* Appends the labels of `from` to `to`; returns the product of their sizes. */
static int64_t
append(const glow_einsum_plan *p, const labels *from, labels *to)
{
    int64_t size = 1;

    for (int i = 0; i < from->count; i++) {
        size *= p->size[from->at[i]];
        add(to, from->at[i]);
    }
    return size;
}

/*
 * The product of x and y; `later` is the first operand that is not multiplied
 * yet.
 */
static term
product(glow_builder *b, const glow_einsum_plan *p, term x, term y, int later)
{
    labels batch = {0}, left = {0}, right = {0}, sum = {0}, result = {0};
    labels xs = {0}, ys = {0};
    term t = {0};

    sum_others(b, p, &x, &y, later);
    sum_others(b, p, &y, &x, later);
    for (int k = 0; k < x.rank; k++)
        add(!has(&y, x.label[k])              ? &left
            : is_needed(p, x.label[k], later) ? &batch
                                              : &sum,
            x.label[k]);
    for (int k = 0; k < y.rank; k++)
        if (!has(&x, y.label[k]))
            add(&right, y.label[k]);

    int64_t n = append(p, &batch, &xs), rows = append(p, &left, &xs);
    int64_t depth = append(p, &sum, &xs), columns;
    glow_dims shape = {0};

    append(p, &batch, &ys);
    append(p, &sum, &ys);
    columns = append(p, &right, &ys);
    append(p, &batch, &result);
    append(p, &left, &result);
    append(p, &right, &result);
    if (result.count > GLOW_MAX_RANK)
        return t;
    arrange(b, &x, &xs);
    arrange(b, &y, &ys);
    for (int k = 0; k < result.count; k++) {
        t.label[k] = result.at[k];
        shape.at[shape.rank++] = p->size[result.at[k]];
    }
    t.rank = result.count;
    if (left.count + right.count + sum.count == 0) {
        t.v = glow_build_mul(b, x.v, y.v);
    } else if (batch.count == 0) {
        x.v = glow_build_reshape(b, x.v, GLOW_DIMS_OF(rows, depth));
        y.v = glow_build_reshape(b, y.v, GLOW_DIMS_OF(depth, columns));
        t.v = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x.v, y.v));
    } else {
        x.v = glow_build_reshape(b, x.v, GLOW_DIMS_OF(n, rows, depth));
        y.v = glow_build_reshape(b, y.v, GLOW_DIMS_OF(n, depth, columns));
        t.v = GLOW_BUILD_PLAIN(b, batchmatmul, GLOW_IN(x.v, y.v));
    }
    t.v = glow_build_reshape(b, t.v, shape);
    return t;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_einsum_plan p;
    labels result = {0};
    term t;

    if (!glow_einsum_read(n, &p))
        return NULL;
    t = operand(b, n, &p, 0);
    for (int i = 1; i < p.n_in && t.v; i++) {
        term y = operand(b, n, &p, i);

        t = product(b, &p, t, y, i + 1);
    }
    if (!t.v)
        return NULL;
    sum_others(b, &p, &t, NULL, p.n_in);
    for (int k = 0; k < p.out_rank; k++)
        add(&result, p.out[k]);
    arrange(b, &t, &result);
    return t.v;
}

const glow_pass glow_pass_lower_einsum = {
    .name = "lower-einsum",
    .summary = "express Einsum by matrix products, sums and transposes",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_einsum,
    .rewrite = lower,
};

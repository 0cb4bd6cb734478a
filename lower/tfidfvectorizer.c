/*
 * lower-tfidfvectorizer: compare all windows with all n-grams.
 *
 *     for each length n of n-grams (G of them):
 *         %w = Gather(%x, constant [P, n]: windows of all distances)  [N, P, n]
 *         %e = BatchedReduceMin over n of ([%w] == [pool])            [N, P, G]
 *         %c = BatchedReduceAdd over P                                [N, G]
 *         %y = %y + MatMul(%c, constant [G, M]: its weight, or 0)
 *
 * [..]: Broadcast to N x P x G x n.  For idf a count is cut to 1 first.  Left
 * alone where the comparison has more than 2^30 elements.
 */

#include "lower/common.h"

#define MOST (INT64_C(1) << 30) /* elements that are compared */

static glow_value *
constant_of(glow_builder *b, glow_kind kind, glow_dims shape,
            const char *suffix)
{
    return glow_build_constant(
        b, suffix,
        glow_type_get(glow_builder_context(b), glow_type_of(kind, shape)));
}

/*
 * Number of windows of n items in a row of `size`, over all distances up to
 * `skips` + 1.
 */
static int64_t
count_windows(int64_t n, int64_t skips, int64_t size)
{
    int64_t count = 0;

    for (int64_t s = 1; s <= skips + 1 && (n - 1) * s < size; s++)
        count += size - (n - 1) * s;
    return count;
}

/*
 * True if comparing all windows with all n-grams takes at most MOST elements.
 */
static bool
is_possible(int64_t rows, int64_t places, glow_tfidf_grams g)
{
    int64_t count = rows;

    return !glow_mul_overflow(count, places, &count) &&
           !glow_mul_overflow(count, g.count, &count) &&
           !glow_mul_overflow(count, g.n, &count) && count <= MOST;
}

static glow_value *
windows(glow_builder *b, int64_t n, int64_t skips, int64_t size, int64_t count)
{
    glow_value *v =
        constant_of(b, GLOW_INDEX64, GLOW_DIMS_OF(count, n), "windows");
    int64_t at = 0;

    for (int64_t s = 1; v && s <= skips + 1 && (n - 1) * s < size; s++)
        for (int64_t first = 0; first < size - (n - 1) * s; first++)
            for (int64_t i = 0; i < n; i++)
                glow_set_int(&v->storage->tensor, at++, first + i * s);
    return v;
}

/* The counts of the n-grams of one length, [N, G]; x is [N, C] of index64. */
static glow_value *
counts(glow_builder *b, const glow_tfidfvectorizer *a, glow_tfidf_grams g,
       glow_value *x)
{
    int64_t skips = g.n == 1 ? 0 : a->max_skip_count;
    int64_t rows = x->type->shape.at[0], size = x->type->shape.at[1];
    int64_t places = count_windows(g.n, skips, size);
    glow_dims all = GLOW_DIMS_OF(rows, places, g.count, g.n);
    glow_value *pool, *w;

    if (places == 0) {
        glow_type none = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(rows, g.count));

        return glow_lower_splat(b, glow_type_get(glow_builder_context(b), none),
                                0);
    }
    pool = constant_of(b, GLOW_INDEX64, GLOW_DIMS_OF(g.count, g.n), "pool");
    for (int64_t i = 0; pool && i < g.count * g.n; i++)
        glow_set_int(&pool->storage->tensor, i, g.pool[i]);
    w = windows(b, g.n, skips, size, places);
    w = GLOW_BUILD(b, gather, GLOW_IN(x, w), .axis = 1);
    w = glow_build_reshape(b, w, GLOW_DIMS_OF(rows, places, 1, g.n));
    w = glow_lower_spread(b, w, 0, all);
    pool = glow_lower_spread(b, pool, 2, all);
    w = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(w, pool));
    w = glow_lower_convert(b, w, GLOW_FLOAT);
    w = GLOW_BUILD(b, batchedreducemin, GLOW_IN(w), .axes = GLOW_DIMS_OF(3));
    return GLOW_BUILD(b, batchedreduceadd, GLOW_IN(w), .axes = GLOW_DIMS_OF(1));
}

/* Weights [count, width] from n-grams first, ... to columns of the result. */
static glow_value *
weights(glow_builder *b, const glow_tfidfvectorizer *a, int64_t first,
        int64_t count, int64_t width)
{
    bool weighs = a->mode != GLOW_TFIDF_TF && a->weights.count > 0;
    glow_value *v =
        constant_of(b, GLOW_FLOAT, GLOW_DIMS_OF(count, width), "weights");

    for (int64_t i = 0; v && i < count; i++)
        glow_set_double(&v->storage->tensor,
                        i * width + a->ngram_indexes.at[first + i],
                        weighs ? (double)a->weights.at[first + i] : 1);
    return v;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_tfidfvectorizer *a = n->attrs;
    glow_dims s = n->in[0]->type->shape, y = n->out[0]->type->shape;
    int64_t rows = s.rank == 2 ? s.at[0] : 1, width = y.at[y.rank - 1];
    glow_value *x = glow_lower_convert(b, n->in[0], GLOW_INDEX64);
    glow_value *sum = NULL;

    x = glow_build_reshape(b, x, GLOW_DIMS_OF(rows, s.at[s.rank - 1]));
    for (int64_t l = a->min_gram_length; x && l <= a->max_gram_length; l++) {
        glow_tfidf_grams g = glow_tfidf_read(a, l);
        glow_value *c;

        if (g.count == 0)
            continue;
        if (!is_possible(rows,
                         count_windows(l, l == 1 ? 0 : a->max_skip_count,
                                       s.at[s.rank - 1]),
                         g))
            return NULL;
        c = counts(b, a, g, x);
        if (a->mode == GLOW_TFIDF_IDF && c)
            c = GLOW_BUILD_PLAIN(b, min,
                                 GLOW_IN(c, glow_lower_splat(b, c->type, 1)));
        c = GLOW_BUILD_PLAIN(
            b, matmul, GLOW_IN(c, weights(b, a, g.first, g.count, width)));
        sum = sum ? glow_build_add(b, sum, c) : c;
    }
    if (!sum)
        return glow_lower_splat(b, n->out[0]->type, 0);
    sum = glow_build_reshape(b, sum, y);
    return glow_lower_convert(b, sum, n->out[0]->type->elem);
}

const glow_pass glow_pass_lower_tfidfvectorizer = {
    .name = "lower-tfidfvectorizer",
    .summary = "express TfIdfVectorizer by Gather, comparisons and sums",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_tfidfvectorizer,
    .rewrite = lower,
};

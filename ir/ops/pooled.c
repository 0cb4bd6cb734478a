/* Embeddings of several tables at once. */

#include "ir/ops/common.h"

static bool
check_list(const glow_node *n, int i)
{
    return glow_admit(n, i, GLOW_ANY_INT) && glow_check_rank(n, i, 1);
}

/*
 * The number of features: operand `i` has one element more. -1 after a report.
 */
static int64_t
features_of(const glow_node *n, int i)
{
    int64_t count = n->in[i]->type->shape.at[0];

    if (count > 0)
        return count - 1;
    glow_reject(n, "%s has 0 elements, but the last end must be there",
                n->op->in[i].name);
    return -1;
}

/*
 * Sets `*out` to element `at` of list `i`, which must be in [least, most];
 * false after a report.
 */
static bool
within(const glow_node *n, int i, const glow_tensor *list, int64_t at,
       int64_t least, int64_t most, int64_t *out)
{
    *out = glow_get_int(list, at);
    if (*out >= least && *out <= most)
        return true;
    return glow_reject(n,
                       "element %" PRId64 " of %s is %" PRId64
                       ", which is not within %" PRId64 " and %" PRId64,
                       at, n->op->in[i].name, *out, least, most);
}

/* batchedunaryembeddingsbags */

static bool
unary_infer(const glow_node *n, glow_type out[])
{
    glow_type y = glow_dense(n->in[0]->type);
    int64_t tables, bags;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank_from(n, 0, 2) ||
        !check_list(n, 1) || !check_list(n, 2) || !check_list(n, 3))
        return false;
    if (y.shape.rank > 3 || (y.shape.rank == 3 && y.shape.at[2] != 1))
        return glow_reject(n, "Weights must be [tasks, rows] or "
                              "[tasks, rows, 1]");
    tables = features_of(n, 1);
    bags = tables < 0 ? -1 : features_of(n, 2);
    if (bags < 0)
        return false;
    if (tables == 0 || bags % tables != 0)
        return glow_reject(n,
                           "Offsets has the ends of %" PRId64
                           " bags, but there are %" PRId64 " tables",
                           bags, tables);
    y.shape = GLOW_DIMS_OF(y.shape.at[0], bags / tables, tables);
    return glow_give(n, y, &out[0]);
}

/* Sums of one bag of one table, for each task. */
static bool
sum_bag(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
        int64_t table, int64_t bag, int64_t from, int64_t end)
{
    glow_dims y = out[0]->type->shape;
    int64_t rows = in[0]->type->shape.at[1], first;

    if (!within(n, 1, in[1], table, 0, rows, &first))
        return false;
    for (int64_t j = from; j < end; j++) {
        int64_t row;

        if (!within(n, 3, in[3], j, 0, rows - first - 1, &row))
            return false;
    }
    for (int64_t task = 0; task < y.at[0]; task++) {
        int64_t at = task * rows + first;
        double sum = 0;

        for (int64_t j = from; j < end; j++)
            sum += glow_get_double(in[0], at + glow_get_int(in[3], j));
        glow_set_double(out[0], (task * y.at[1] + bag) * y.at[2] + table, sum);
    }
    return true;
}

static bool
unary_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims y = out[0]->type->shape;
    int64_t count = glow_tensor_count(in[3]), from, end;

    (void)scratch;
    if (!within(n, 2, in[2], 0, 0, 0, &from))
        return false;
    for (int64_t i = 0; i < y.at[2] * y.at[1]; i++, from = end)
        if (!within(n, 2, in[2], i + 1, from, count, &end) ||
            !sum_bag(n, in, out, i / y.at[1], i % y.at[1], from, end))
            return false;
    return true;
}

const glow_op glow_op_batchedunaryembeddingsbags = {
    .name = "BatchedUnaryEmbeddingsBags",
    .summary = "sums of single weights from many tables",
    .in = {{"Weights", GLOW_TENSOR,
            "[tasks, rows] or [tasks, rows, 1]: the rows of all tables"},
           {"TableOffsets", GLOW_TENSOR,
            "integers: where each table begins, and the end of the last"},
           {"Offsets", GLOW_TENSOR,
            "integers, ascending from 0: where in Indices the bags begin, all "
            "of the first table, then of the second, and so on, and the end of "
            "the last"},
           {"Indices", GLOW_TENSOR, "integers: rows of the bag's table"}},
    .out = {{"Result", GLOW_TENSOR, "[tasks, bags of a table, tables]"}},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = unary_infer,
    .eval = unary_eval,
    .doc = "`y[n, b, t]` is the sum of `weights[n, table_offsets[t] + i]` over "
           "the indices `i` of bag `b` of table `t`.",
    .source = "Glow BatchedUnaryEmbeddingsBags; FBGEMM",
};

/* permutepooledembeddings */

static bool
permute_infer(const glow_node *n, glow_type out[])
{
    int64_t features;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) || !glow_check_rank(n, 0, 2))
        return false;
    for (int i = 1; i < 5; i++)
        if (!check_list(n, i))
            return false;
    features = features_of(n, 1);
    if (features < 0)
        return false;
    for (int i = 2; i < 5; i++) {
        glow_dims want = GLOW_DIMS_OF(features + (i == 3));

        if (!glow_check_shape(n, i, want, "the features of OffsetDimList"))
            return false;
    }
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
permute_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape, step = GLOW_DIMS_OF(x.at[1], 1);
    int64_t features = glow_tensor_count(in[2]), end;

    (void)scratch;
    if (!within(n, 3, in[3], 0, 0, 0, &end) ||
        !within(n, 3, in[3], features, x.at[1], x.at[1], &end))
        return false;
    for (int64_t j = 0; j < features; j++) {
        int64_t to, from, feature, size;

        if (!within(n, 3, in[3], j, 0, x.at[1], &to) ||
            !within(n, 3, in[3], j + 1, to, x.at[1], &end) ||
            !within(n, 2, in[2], j, 0, features - 1, &feature))
            return false;
        size = end - to;
        if (!within(n, 1, in[1], feature, 0, x.at[1] - size, &from))
            return false;
        glow_copy_block(out[0], to, step, in[0], from, step,
                        GLOW_DIMS_OF(x.at[0], size));
    }
    return true;
}

const glow_op glow_op_permutepooledembeddings = {
    .name = "PermutePooledEmbeddings",
    .summary = "put the columns of features into another order",
    .in = {{"PooledEmbeddings", GLOW_TENSOR, "[batch, columns]"},
           {"OffsetDimList", GLOW_TENSOR,
            "integers: where the columns of each feature begin, and the end of "
            "the last"},
           {"PermuteList", GLOW_TENSOR,
            "integers: which feature stands at each place of Result"},
           {"InvOffsetDimList", GLOW_TENSOR,
            "integers: where the columns of each place of Result begin, from 0 "
            "on, and the end of the last"},
           {"InvPermuteList", GLOW_TENSOR,
            "integers: where each feature stands; nothing depends on it"}},
    .out = {{"Result", GLOW_TENSOR, "the type of PooledEmbeddings"}},
    .traits = GLOW_PURE | GLOW_LAYOUT,
    .infer = permute_infer,
    .eval = permute_eval,
    .doc = "`y[b, inv_offsets[j] + k] = x[b, offsets[permute[j]] + k]`.",
    .source = "Glow PermutePooledEmbeddings; FBGEMM",
};

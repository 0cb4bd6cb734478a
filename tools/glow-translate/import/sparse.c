/*
 * Operators over lists of sparse features.  They come from Caffe2, and Glow
 * writes them under the same names into ONNX, so both have these rows.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

/* Imports operands unchanged, without attributes. */
static bool
plain(import_node *n)
{
    int count = glow_op_operands(n->row->op);

    return import_operands(n, count, count) &&
           import_done(n,
                       import_build(n, n->row->op, NULL, n->in, n->n_in, NULL));
}

/* Ignores hints about lengths. */
static void
ignore_hints(import_node *n)
{
    import_ignore(n, "AvgLength");
    import_ignore(n, "LengthsMode");
    import_ignore(n, "average_lookup_length");
    import_ignore(n, "length1");
}

static bool
sparse_lengths_sum(import_node *n)
{
    ignore_hints(n);
    return import_operands(n, 3, 3) &&
           import_done(n, BUILD(n, sparselengthssum,
                                GLOW_IN(n->in[0], n->in[1], n->in[2]),
                                .lengths_mode = GLOW_LENGTHS_VARIABLE));
}

static bool
sparse_lengths_weighted_sum(import_node *n)
{
    ignore_hints(n);
    if (!import_operands(n, 4, 4))
        return false;
    return import_done(n, BUILD(n, sparselengthsweightedsum,
                                GLOW_IN(n->in[0], n->in[1], n->in[2], n->in[3]),
                                .lengths_mode = GLOW_LENGTHS_VARIABLE));
}

static bool
embedding_bag(import_node *n)
{
    bool end = import_flag(n, "HasEndOffset", false);

    ignore_hints(n);
    return import_operands(n, 4, 4) &&
           import_done(n, BUILD(n, embeddingbag,
                                GLOW_IN(n->in[0], n->in[1], n->in[2], n->in[3]),
                                .has_end_offset = end,
                                .lengths_mode = GLOW_LENGTHS_VARIABLE));
}

/* Results whose length depends on values; an argument gives the maximum. */

static bool
read_most(import_node *n, int64_t known, int64_t *out)
{
    *out = import_int(n, "maxOutputSize", known, 0, INT64_MAX);
    if (*out < 0 && !n->failed)
        return import_refuse(n, "E0705",
                             "the size of the result depends on values; "
                             "maxOutputSize would bound it");
    return !n->failed;
}

static bool
lengths_range_fill(import_node *n)
{
    int64_t most = -1;

    if (!import_operands(n, 1, 1))
        return false;
    if (import_is_known(n, 0)) {
        glow_ints l = import_known_ints(n, 0);

        most = 0;
        for (int64_t i = 0; i < l.count && most >= 0; i++)
            if (l.at[i] < 0 || glow_add_overflow(most, l.at[i], &most))
                most = -1;
    }
    return read_most(n, most, &most) &&
           import_done(n, BUILD(n, lengthsrangefill, GLOW_IN(n->in[0]),
                                .max_output_size = most));
}

static bool
gather_ranges(import_node *n)
{
    int64_t most;

    if (!import_operands(n, 2, 2) || !read_most(n, -1, &most))
        return false;

    glow_value *y = BUILD(n, gatherranges, GLOW_IN(n->in[0], n->in[1]),
                          .max_output_size = most);

    if (y && n->n_out > 1)
        n->out[1] = y->def->out[1];
    return import_done(n, y);
}

static bool
bucketize(import_node *n)
{
    glow_floats at = import_floats(n, "boundaries");

    return import_operands(n, 1, 1) &&
           import_done(
               n, BUILD(n, bucketize, GLOW_IN(n->in[0]), .boundaries = at));
}

static bool
embedding(import_node *n)
{
    int64_t pad = import_int(n, "padIdx", -1, -1, INT64_MAX);

    /* The scale of gradients has no effect in inference. */
    import_ignore(n, "scale");
    import_ignore(n, "sparse");
    return import_operands(n, 2, 2) &&
           import_done(n, BUILD(n, embedding, GLOW_IN(n->in[0], n->in[1]),
                                .pad_idx = pad));
}

/* Slices replace rows; each index is of a row. */
static bool
scatter_assign(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    glow_value *at = import_reshape(
        n, n->in[1], GLOW_DIMS_OF(glow_type_count(n->in[1]->type), 1));

    return import_done(n, BUILD(n, scatterdata, GLOW_IN(n->in[0], at, n->in[2]),
                                .reduction = GLOW_SCATTER_NONE));
}

/* Dense from sparse. */

/* Adds values at indices; the third operand determines the number of rows. */
static bool
sparse_to_dense(import_node *n)
{
    if (!import_operands(n, 2, 3))
        return false;

    glow_value *values = n->in[1];
    glow_dims shape = values->type->shape, like = import_shape(import_in(n, 2));
    int64_t rows = import_int(n, "output_first_dim", like.rank ? like.at[0] : 0,
                              0, INT64_MAX);

    if (rows == 0)
        return import_refuse(n, "E0705",
                             "the size of the result depends on values");
    if (shape.rank == 0 || n->in[0]->type->shape.rank != 1)
        return import_refuse(n, "E0711",
                             "the ranks of indices and values are %d and %d",
                             n->in[0]->type->shape.rank, shape.rank);
    shape.at[0] = rows;

    glow_value *zeros = import_splat(n, values->type->elem, shape, 0);
    glow_value *at = import_reshape(
        n, n->in[0], GLOW_DIMS_OF(glow_type_count(n->in[0]->type), 1));

    return import_done(n, BUILD(n, scatterdata, GLOW_IN(zeros, at, values),
                                .reduction = GLOW_SCATTER_ADD));
}

static bool
sparse_to_dense_mask(import_node *n)
{
    glow_ints mask = import_ints(n, "mask");

    import_ignore(n, "max_skipped_indices");
    if (import_flag(n, "return_presence_mask", false))
        return import_refuse(n, "E0705",
                             "return_presence_mask is not supported");
    return import_operands(n, 3, 4) &&
           import_done(
               n, BUILD(n, sparsetodensemask,
                        GLOW_IN(n->in[0], n->in[1], n->in[2], import_in(n, 3)),
                        .mask = mask));
}

static bool
batch_sparse_to_dense(import_node *n)
{
    float otherwise = import_float(n, "default_value", 0);

    if (!import_operands(n, 3, 4))
        return false;

    glow_dims like = import_shape(import_in(n, 3));
    int64_t width = import_int(n, "dense_last_dim",
                               like.rank == 2 ? like.at[1] : -1, 1, INT64_MAX);

    if (width < 0)
        return import_refuse(n, "E0705",
                             "the size of the result depends on values; "
                             "dense_last_dim would be it");
    return import_done(
        n, BUILD(n, batchsparsetodense, GLOW_IN(n->in[0], n->in[1], n->in[2]),
                 .default_value = otherwise, .dense_last_dim = width));
}

/* Row `i` of a matrix, as a list. */
static glow_value *
row_of(import_node *n, glow_value *v, int64_t i)
{
    glow_dims shape = import_shape(v);

    v = import_cut(n, v, 0, i, 1);
    return import_reshape(n, v, GLOW_DIMS_OF(shape.at[1]));
}

/*
 * Results: values of each label, then examples of each, then, if wanted, the
 * offsets.
 */
static bool
sparse_label_split(import_node *n)
{
    int64_t labels = import_int(n, "num_labels", 0, 1, INT32_MAX);
    bool offsets = import_flag(n, "keep_gradient_offset_map", false);

    if (!import_operands(n, 3, 3))
        return false;
    if (n->n_out != 2 * labels + offsets)
        return import_refuse(n, "E0711", "%d results, but %" PRId64 " are due",
                             n->n_out, 2 * labels + offsets);

    glow_value *y =
        BUILD(n, sparselabelsplit, GLOW_IN(n->in[0], n->in[1], n->in[2]),
              .num_labels = labels);

    for (int64_t i = 0; i < labels && !n->failed; i++) {
        n->out[i] = row_of(n, y->def->out[0], i);
        n->out[labels + i] = row_of(n, y->def->out[1], i);
    }
    if (offsets && !n->failed)
        n->out[2 * labels] = y->def->out[2];
    return !n->failed;
}

const import_row import_sparse_rows[] = {
    {"BatchOneHot", 1, 0, plain, &glow_op_batchonehot, NULL},
    {"BatchSparseToDense", 1, 0, batch_sparse_to_dense, NULL, NULL},
    {"BatchedUnaryEmbeddingsBags", 1, 0, plain,
     &glow_op_batchedunaryembeddingsbags, NULL},
    {"Bucketize", 1, 0, bucketize, NULL, NULL},
    {"Embedding", 1, 0, embedding, NULL, NULL},
    {"EmbeddingBag", 1, 0, embedding_bag, NULL, NULL},
    {"FillExamplesWithIndicator", 1, 0, plain,
     &glow_op_fillexampleswithindicator, NULL},
    {"GatherRanges", 1, 0, gather_ranges, NULL, NULL},
    {"LengthsRangeFill", 1, 0, lengths_range_fill, NULL, NULL},
    {"LengthsSum", 1, 0, plain, &glow_op_lengthssum, NULL},
    {"LengthsToRanges", 1, 0, plain, &glow_op_lengthstoranges, NULL},
    {"PermutePooledEmbeddings", 1, 0, plain, &glow_op_permutepooledembeddings,
     NULL},
    {"ScatterAssign", 1, 0, scatter_assign, NULL, NULL},
    {"SparseLabelSplit", 1, 0, sparse_label_split, NULL, NULL},
    {"SparseLengthsSum", 1, 0, sparse_lengths_sum, NULL, NULL},
    {"SparseLengthsWeightedSum", 1, 0, sparse_lengths_weighted_sum, NULL, NULL},
    {"SparseToDense", 1, 0, sparse_to_dense, NULL, NULL},
    {"SparseToDenseMask", 1, 0, sparse_to_dense_mask, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

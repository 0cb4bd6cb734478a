/*
 * Tables and ranges: Embedding, GatherRanges.
 */

#include "ir/ops/index.h"

/* embedding */

static bool
embedding_infer(const glow_node *n, glow_type out[])
{
    const glow_embedding *e = n->attrs;
    glow_dims table = n->in[0]->type->shape, y = n->in[1]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 2) ||
        !glow_admit(n, 1, GLOW_ANY_INT))
        return false;
    if (e->pad_idx < -1 || e->pad_idx >= table.at[0])
        return glow_reject(
            n, "PadIdx is %" PRId64 ", but Weights has %" PRId64 " rows",
            e->pad_idx, table.at[0]);
    if (y.rank == GLOW_MAX_RANK)
        return glow_reject(n,
                           "the rank of Result is %d, but at most %d is "
                           "possible",
                           y.rank + 1, GLOW_MAX_RANK);
    y.at[y.rank++] = table.at[1];
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

static bool
embedding_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_embedding *e = n->attrs;
    glow_dims table = in[0]->type->shape;
    int64_t width = table.at[1];

    (void)scratch;
    for (int64_t i = 0; i < glow_tensor_count(in[1]); i++) {
        int64_t x = glow_index_at(n, 1, in[1], i, table.at[0], 0, 0);

        if (x < 0)
            return false;
        for (int64_t k = 0; k < width; k++)
            glow_set_double(
                out[0], i * width + k,
                x == e->pad_idx ? 0 : glow_get_double(in[0], x * width + k));
    }
    return true;
}

const glow_op glow_op_embedding = {
    .name = "Embedding",
    .summary = "rows of a table by their numbers",
    .in = {{"Weights", GLOW_TENSOR, "the table: floats, of rank 2"},
           {"Indices", GLOW_TENSOR,
            "integers: which rows; negative ones count from the end"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Indices and the length of a row"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_embedding, pad_idx, GLOW_INT64,
                                 "the number of a row that counts as zeros; "
                                 "-1: none")},
    .defaults = &(const glow_embedding){.pad_idx = -1},
    .traits = GLOW_PURE,
    .infer = embedding_infer,
    .eval = embedding_eval,
    .doc = "`y[i] = weights[indices[i]]`, or zeros where `indices[i]` is "
           "PadIdx.  Glow's Scale and Sparse are about gradients.",
    .source = "Glow Embedding; PyTorch embedding",
    .derivative = &glow_derivative_embedding,
};

/* gatherranges */

static bool
gatherranges_infer(const glow_node *n, glow_type out[])
{
    int64_t most = ((const glow_gatherranges *)n->attrs)->max_output_size;

    if (!glow_admit(n, 0, GLOW_ANY_PLAIN | GLOW_CLASS_QUANTIZED) ||
        !glow_check_rank(n, 0, 1) || !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_rank(n, 1, 3))
        return false;

    glow_dims at = n->in[1]->type->shape;

    if (at.at[2] != 2)
        return glow_reject(n,
                           "the last axis of Ranges has %" PRId64 " elements, "
                           "but a range is a start and a length",
                           at.at[2]);
    if (most < 0)
        return glow_reject(n,
                           "MaxOutputSize is %" PRId64 ", but must be 0 or "
                           "more",
                           most);
    return glow_give(n, glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(most)),
                     &out[0]) &&
           glow_give(n,
                     glow_type_of(n->in[1]->type->elem, GLOW_DIMS_OF(at.at[0])),
                     &out[1]);
}

static bool
gatherranges_eval(const glow_node *n, glow_tensor *const in[],
                  glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims at = in[1]->type->shape;
    int64_t size = glow_tensor_count(in[0]), most = glow_tensor_count(out[0]);
    int64_t to = 0;

    (void)scratch;
    for (int64_t i = 0; i < at.at[0]; i++) {
        int64_t sum = 0;

        for (int64_t k = i * at.at[1]; k < (i + 1) * at.at[1]; k++) {
            int64_t start = glow_get_int(in[1], 2 * k);
            int64_t length = glow_get_int(in[1], 2 * k + 1);

            if (start < 0 || length < 0 || start > size ||
                length > size - start)
                return glow_reject(n,
                                   "%" PRId64 " elements from %" PRId64
                                   " on leave Data, which has %" PRId64,
                                   length, start, size);
            if (length > most - to)
                return glow_reject(n,
                                   "there are more than %" PRId64 " elements, "
                                   "which is MaxOutputSize",
                                   most);
            glow_copy_block(out[0], to, GLOW_DIMS_OF(1), in[0], start,
                            GLOW_DIMS_OF(1), GLOW_DIMS_OF(length));
            to += length;
            sum += length;
        }
        glow_set_int(out[1], i, sum);
    }
    for (; to < most; to++)
        glow_set_real(out[0], to, 0);
    return true;
}

const glow_op glow_op_gatherranges = {
    .name = "GatherRanges",
    .summary = "take ranges of a list, one after another",
    .in = {{"Data", GLOW_TENSOR, "the list"},
           {"Ranges", GLOW_TENSOR,
            "integers [N, M, 2]: for each of N examples M ranges, a start and "
            "a length"}},
    .out = {{"Output", GLOW_TENSOR,
             "MaxOutputSize elements: those of the ranges, then zeros"},
            {"Lengths", GLOW_TENSOR,
             "[N], of the kind of Ranges: how many each example has"}},
    .attrs = {GLOW_FIELD(glow_gatherranges, max_output_size, GLOW_INT64,
                         "how many elements Output has")},
    .traits = GLOW_PURE,
    .infer = gatherranges_infer,
    .eval = gatherranges_eval,
    .doc = "A range that leaves Data, and ranges of more than MaxOutputSize "
           "elements, are an error when they are met.",
    .source = "Glow GatherRanges; Caffe2 GatherRanges",
};

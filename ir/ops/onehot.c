/* Encodings of numbers as positions: OneHot, BatchOneHot, Bucketize. */

#include "ir/ops/common.h"

#include <math.h>

/* onehot */

static bool
onehot_infer(const glow_node *n, glow_type out[])
{
    const glow_onehot *o = n->attrs;
    glow_dims at = n->in[0]->type->shape, y = {.rank = at.rank + 1};

    if (!glow_admit(n, 0, GLOW_ANY_INT) ||
        !glow_admit(n, 1, GLOW_ANY_UNFUSED) ||
        !glow_check_shape(n, 1, GLOW_DIMS_OF(2), "that of off and on"))
        return false;
    if (o->depth < 1)
        return glow_reject(n, "Depth is %" PRId64 ", but must be at least 1",
                           o->depth);
    if (o->axis < 0 || o->axis > at.rank)
        return glow_reject(n, "Axis is %d, but the rank of Indices is %d",
                           o->axis, at.rank);
    if (y.rank > GLOW_MAX_RANK)
        return glow_reject(n,
                           "the rank of Result is %d, but at most %d is "
                           "possible",
                           y.rank, GLOW_MAX_RANK);
    for (int i = 0; i < y.rank; i++)
        y.at[i] = i == o->axis ? o->depth : at.at[i < o->axis ? i : i - 1];
    return glow_give(n, glow_reshaped(n->in[1]->type, y), &out[0]);
}

static bool
onehot_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    const glow_onehot *o = n->attrs;
    glow_dims y = out[0]->type->shape, none = {0};
    int64_t rest = glow_dims_product(y, o->axis + 1, y.rank);
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    if (count > 0)
        glow_copy_block(out[0], 0, GLOW_DIMS_OF(1), in[1], 0, GLOW_DIMS_OF(0),
                        GLOW_DIMS_OF(count));
    for (int64_t i = 0; i < glow_tensor_count(in[0]); i++) {
        int64_t x = glow_get_int(in[0], i);

        if (x < 0 && glow_tensor_is_signed(in[0]))
            x += o->depth;
        if (x >= 0 && x < o->depth)
            glow_copy_block(out[0], (i / rest * o->depth + x) * rest + i % rest,
                            none, in[1], 1, none, none);
    }
    return true;
}

const glow_op glow_op_onehot = {
    .name = "OneHot",
    .summary = "numbers as vectors with one element that differs",
    .in = {{"Indices", GLOW_TENSOR,
            "integers; negative ones count from the end of Depth"},
           {"Values", GLOW_TENSOR, "two elements: off and on"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Indices with Depth at Axis; the kind of Values"}},
    .attrs = {GLOW_FIELD(glow_onehot, depth, GLOW_INT64,
                         "the length of a vector"),
              GLOW_FIELD(glow_onehot, axis, GLOW_INT,
                         "the axis of Result that the vectors lie along")},
    .traits = GLOW_PURE,
    .infer = onehot_infer,
    .eval = onehot_eval,
    .doc = "`y[i, k, j]` is `Values[1]` where `k` is `indices[i, j]`, else "
           "`Values[0]`; a number outside of Depth gives no on.",
    .source = "ONNX OneHot",
};

/* batchonehot */

static bool
batchonehot_infer(const glow_node *n, glow_type out[])
{
    if (!glow_admit_real(n, 0, GLOW_ANY_PLAIN) || !glow_check_rank(n, 0, 2) ||
        !glow_admit(n, 1, GLOW_ANY_INT) || !glow_check_rank(n, 2, 1) ||
        !glow_check_kinds(n, 2, 0))
        return false;

    glow_dims data = n->in[0]->type->shape;
    glow_dims y = GLOW_DIMS_OF(data.at[0], n->in[2]->type->shape.at[0]);

    return glow_check_shape(n, 1, GLOW_DIMS_OF(data.at[1]),
                            "the columns of Data") &&
           glow_give_real(n, y, &out[0]);
}

/* Column `j` of Result, from column `from` of Data. */
static void
fill_column(glow_tensor *const in[], const glow_tensor *out, int64_t j,
            int64_t from)
{
    int64_t rows = in[0]->type->shape.at[0], width = in[0]->type->shape.at[1];
    int64_t values = glow_tensor_count(in[2]);
    bool real = glow_tensor_is_float(in[0]);

    for (int64_t b = 0; b < rows; b++) {
        int64_t i = b * width + from;
        bool equal =
            real ? glow_get_double(in[0], i) == glow_get_double(in[2], j)
                 : glow_get_int(in[0], i) == glow_get_int(in[2], j);

        if (glow_tensor_is_real(out))
            glow_store(out, b * values + j, 1, &(double){equal});
        else
            glow_set_int(out, b * values + j, equal);
    }
}

static bool
batchonehot_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    int64_t j = 0, values = glow_tensor_count(in[2]);

    (void)scratch;
    for (int64_t d = 0; d < glow_tensor_count(in[1]); d++) {
        int64_t length = glow_get_int(in[1], d);

        if (length < 0 || length > values - j)
            return glow_reject(n,
                               "element %" PRId64 " of Lengths is %" PRId64
                               ", but %" PRId64 " of Values are left",
                               d, length, values - j);
        for (int64_t end = j + length; j < end; j++)
            fill_column(in, out[0], j, d);
    }
    return j == values ||
           glow_reject(n,
                       "Lengths add up to %" PRId64 ", but Values has "
                       "%" PRId64 " elements",
                       j, values);
}

const glow_op glow_op_batchonehot = {
    .name = "BatchOneHot",
    .summary = "compare each column with values of its own",
    .in = {{"Data", GLOW_TENSOR, "x, of shape [B, D]"},
           {"Lengths", GLOW_TENSOR,
            "integers [D]: how many of Values belong to each column"},
           {"Values", GLOW_TENSOR,
            "v, of Data's kind, those of column 0 first"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [B, elements of Values]"}},
    .traits = GLOW_PURE,
    .infer = batchonehot_infer,
    .eval = batchonehot_eval,
    .doc = "`y[b, j]` is 1 if `x[b, d] = v[j]`, else 0, where `d` is the "
           "column that `v[j]` belongs to.  Quantized results are those for "
           "the reals 1 and 0.  Lengths add up to the size of "
           "Values.",
    .source = "Glow BatchOneHot; Caffe2 BatchOneHot",
};

/* bucketize */

static bool
bucketize_infer(const glow_node *n, glow_type out[])
{
    const glow_floats *b = &((const glow_bucketize *)n->attrs)->boundaries;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT))
        return false;
    if (b->count < 1)
        return glow_reject(n, "Boundaries is empty, but at least 1 is needed");
    for (int64_t i = 0; i < b->count; i++) {
        if (isnan(b->at[i]))
            return glow_reject(n, "Boundaries[%" PRId64 "] is no number", i);
        if (i > 0 && b->at[i] < b->at[i - 1])
            return glow_reject(n,
                               "Boundaries[%" PRId64 "] is %g, but the one "
                               "before it %g",
                               i, (double)b->at[i], (double)b->at[i - 1]);
    }
    return glow_give(n, glow_rekinded(n->in[0]->type, GLOW_INDEX32), &out[0]);
}

static bool
bucketize_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_floats *b = &((const glow_bucketize *)n->attrs)->boundaries;

    (void)scratch;
    for (int64_t i = 0; i < glow_tensor_count(in[0]); i++) {
        double x = glow_get_double(in[0], i);
        int64_t k = 0;

        while (k < b->count && (double)b->at[k] < x)
            k++;
        glow_set_int(out[0], i, k);
    }
    return true;
}

const glow_op glow_op_bucketize = {
    .name = "Bucketize",
    .summary = "the number of the interval that each element lies in",
    .in = {{"Input", GLOW_TENSOR, "x: floats"}},
    .out = {{"Result", GLOW_TENSOR, "index32, of the shape of Input"}},
    .attrs = {GLOW_FIELD(glow_bucketize, boundaries, GLOW_FLOATS,
                         "where the intervals end, ascending")},
    .traits = GLOW_PURE,
    .infer = bucketize_infer,
    .eval = bucketize_eval,
    .doc = "`y` is how many of Boundaries are less than `x`: "
           "`Boundaries[y - 1] < x <= Boundaries[y]`.  Of NaN it is 0.",
    .source = "Glow Bucketize; Caffe2 Bucketize",
};

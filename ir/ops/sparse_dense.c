/* Sparse lists to dense tensors: each example has a run of entries. */

#include "ir/ops/common.h"

/* Checks that operand `i` is a list of integers. */
static bool
check_list(const glow_node *n, int i)
{
    return glow_admit(n, i, GLOW_ANY_INT) && glow_check_rank(n, i, 1);
}

/*
 * The end of run `s`, which begins at `at`, at most `count`; -1 after a report.
 */
static int64_t
end_of(const glow_node *n, const glow_tensor *lengths, int64_t s, int64_t at,
       int64_t count)
{
    int64_t length = glow_get_int(lengths, s);

    if (length >= 0 && length <= count - at)
        return at + length;
    glow_reject(n,
                "element %" PRId64 " of Lengths is %" PRId64 ", but %" PRId64
                " entries are left",
                s, length, count - at);
    return -1;
}

static int64_t
size_from(const glow_tensor *t, int axis)
{
    glow_dims shape = t->type->shape;

    return glow_dims_product(shape, axis, shape.rank);
}

/* Copies `size` elements of `from` at `from_at` to position `at` of `to`. */
static void
move_run(const glow_tensor *to, int64_t at, const glow_tensor *from,
         int64_t from_at, int64_t size)
{
    glow_dims one = GLOW_DIMS_OF(1);

    glow_copy_block(to, at, one, from, from_at, one, GLOW_DIMS_OF(size));
}

static void
set_all(const glow_tensor *t, double v)
{
    for (int64_t i = 0; i < glow_tensor_count(t); i++)
        if (glow_tensor_is_float(t))
            glow_set_double(t, i, v);
        else
            glow_set_int(t, i, glow_int_as(t->type, v));
}

/* batchsparsetodense */

static bool
batch_infer(const glow_node *n, glow_type out[])
{
    const glow_batchsparsetodense *a = n->attrs;
    glow_type y = glow_dense(n->in[2]->type);

    if (!check_list(n, 0) || !check_list(n, 1) ||
        !glow_admit(n, 2, GLOW_ANY_PLAIN) || !glow_check_shapes(n, 2, 1))
        return false;
    if (a->dense_last_dim < 0)
        return glow_reject(n, "DenseLastDim is %" PRId64, a->dense_last_dim);
    y.shape = GLOW_DIMS_OF(n->in[0]->type->shape.at[0], a->dense_last_dim);
    return glow_give(n, y, &out[0]);
}

static bool
batch_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    const glow_batchsparsetodense *a = n->attrs;
    int64_t width = a->dense_last_dim, count = glow_tensor_count(in[1]), at = 0;

    (void)scratch;
    set_all(out[0], (double)a->default_value);
    for (int64_t s = 0; s < glow_tensor_count(in[0]); s++) {
        int64_t end = end_of(n, in[0], s, at, count);

        if (end < 0)
            return false;
        for (; at < end; at++) {
            int64_t x = glow_get_int(in[1], at);

            if (x < 0 || x >= width)
                return glow_reject(n,
                                   "element %" PRId64 " of Indices is %" PRId64
                                   ", but DenseLastDim is %" PRId64,
                                   at, x, width);
            move_run(out[0], s * width + x, in[2], at, 1);
        }
    }
    return true;
}

const glow_op glow_op_batchsparsetodense = {
    .name = "BatchSparseToDense",
    .summary = "rows of a matrix from their entries",
    .in = {{"Lengths", GLOW_TENSOR, "integers: how many entries each row has"},
           {"Indices", GLOW_TENSOR, "integers: the column of each entry"},
           {"Values", GLOW_TENSOR, "the value of each entry"}},
    .out = {{"Result", GLOW_TENSOR,
             "of the kind of Values: a row of DenseLastDim elements for each "
             "length"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_batchsparsetodense, default_value,
                                 GLOW_FLOAT32, "what stands elsewhere"),
              GLOW_FIELD(glow_batchsparsetodense, dense_last_dim, GLOW_INT64,
                         "the columns of Result")},
    .defaults = &(const glow_batchsparsetodense){.default_value = 0},
    .traits = GLOW_PURE,
    .infer = batch_infer,
    .eval = batch_eval,
    .doc = "For each entry `j` of row `s`, `y[s, indices[j]] = values[j]`; of "
           "several entries for one element the last one stays.  Entries after "
           "the last row are not looked at.",
    .source = "Glow BatchSparseToDense; Caffe2",
};

/* fillexampleswithindicator */

static bool
examples_infer(const glow_node *n, glow_type out[])
{
    glow_type y = glow_dense(n->in[0]->type);

    if (!glow_admit(n, 0, GLOW_ANY_PLAIN) || !glow_check_rank_from(n, 0, 1) ||
        !glow_admit(n, 1, GLOW_ANY_INT | GLOW_ANY_BOOL) ||
        !glow_check_rank(n, 1, 1))
        return false;
    y.shape.at[0] = n->in[1]->type->shape.at[0];
    return glow_give(n, y, &out[0]);
}

static bool
examples_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    int64_t size = size_from(in[0], 1), rows = in[0]->type->shape.at[0];
    int64_t row = 0;

    (void)scratch;
    set_all(out[0], 0);
    for (int64_t i = 0; i < glow_tensor_count(in[1]); i++) {
        if (glow_get_int(in[1], i) == 0)
            continue;
        if (row == rows)
            return glow_reject(n,
                               "element %" PRId64 " of Indicator wants a row, "
                               "but Data has only %" PRId64,
                               i, rows);
        move_run(out[0], i * size, in[0], row++ * size, size);
    }
    return true;
}

const glow_op glow_op_fillexampleswithindicator = {
    .name = "FillExamplesWithIndicator",
    .summary = "put zeros between rows",
    .in = {{"Data", GLOW_TENSOR, "rows along the first axis"},
           {"Indicator", GLOW_TENSOR,
            "integers or bools: 0 for a row of zeros; the others are not more "
            "than Data has rows"}},
    .out = {{"Result", GLOW_TENSOR,
             "as Data, with a row for each element of Indicator"}},
    .traits = GLOW_PURE,
    .infer = examples_infer,
    .eval = examples_eval,
    .doc = "The elements of Indicator that are not 0 get the rows of Data, in "
           "order, the others zeros.",
    .source = "Glow FillExamplesWithIndicator; Caffe2",
};

/* sparsetodensemask */

static bool
check_mask(const glow_node *n, glow_ints mask)
{
    for (int64_t i = 0; i < mask.count; i++)
        for (int64_t j = 0; j < i; j++)
            if (mask.at[i] == mask.at[j])
                return glow_reject(n,
                                   "elements %" PRId64 " and %" PRId64
                                   " of Mask are both %" PRId64,
                                   j, i, mask.at[i]);
    return true;
}

static bool
mask_infer(const glow_node *n, glow_type out[])
{
    const glow_sparsetodensemask *a = n->attrs;
    glow_type y = glow_dense(n->in[1]->type);
    glow_dims row = {.rank = y.shape.rank - 1}, shape = {0};

    if (!check_list(n, 0) || !glow_admit(n, 1, GLOW_ANY_PLAIN) ||
        !glow_check_rank_from(n, 1, 1) || !glow_check_kinds(n, 2, 1) ||
        (n->in[3] && !check_list(n, 3)) || !check_mask(n, a->mask))
        return false;
    if (y.shape.at[0] != n->in[0]->type->shape.at[0])
        return glow_reject(n,
                           "Values has %" PRId64 " rows, but Indices has "
                           "%" PRId64 " elements",
                           y.shape.at[0], n->in[0]->type->shape.at[0]);
    for (int i = 0; i < row.rank; i++)
        row.at[i] = y.shape.at[i + 1];
    if (!glow_check_shape(n, 2, row, "a row of Values"))
        return false;
    if (row.rank + 1 + (n->in[3] != NULL) > GLOW_MAX_RANK)
        return glow_reject(n,
                           "the rank of Result is %d, but at most %d is "
                           "possible",
                           row.rank + 1 + (n->in[3] != NULL), GLOW_MAX_RANK);
    if (n->in[3])
        shape.at[shape.rank++] = n->in[3]->type->shape.at[0];
    shape.at[shape.rank++] = a->mask.count;
    for (int i = 0; i < row.rank; i++)
        shape.at[shape.rank++] = row.at[i];
    y.shape = shape;
    return glow_give(n, y, &out[0]);
}

static bool
mask_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_sparsetodensemask *a = n->attrs;
    int64_t size = size_from(in[2], 0), count = glow_tensor_count(in[0]);
    int64_t runs = in[3] ? glow_tensor_count(in[3]) : 1, at = 0;

    (void)scratch;
    for (int64_t i = 0; i < runs * a->mask.count; i++)
        move_run(out[0], i * size, in[2], 0, size);
    for (int64_t s = 0; s < runs; s++) {
        int64_t end = in[3] ? end_of(n, in[3], s, at, count) : count;

        if (end < 0)
            return false;
        for (; at < end; at++)
            for (int64_t m = 0; m < a->mask.count; m++)
                if (glow_get_int(in[0], at) == a->mask.at[m])
                    move_run(out[0], (s * a->mask.count + m) * size, in[1],
                             at * size, size);
    }
    return true;
}

const glow_op glow_op_sparsetodensemask = {
    .name = "SparseToDenseMask",
    .summary = "the entries of some numbers, in the order of these",
    .in = {{"Indices", GLOW_TENSOR, "integers: the number of each entry"},
           {"Values", GLOW_TENSOR, "a row for each entry"},
           {"DefaultValue", GLOW_TENSOR,
            "a row: what stands where there is no entry"},
           {"Lengths", GLOW_OPTIONAL,
            "integers: how many entries each example has"}},
    .out = {{"Result", GLOW_TENSOR,
             "as Values, with a row for each number of Mask; before that, an "
             "axis for the examples, if there are Lengths"}},
    .attrs = {GLOW_FIELD(glow_sparsetodensemask, mask, GLOW_INTS,
                         "the numbers, no two of them equal")},
    .traits = GLOW_PURE,
    .infer = mask_infer,
    .eval = mask_eval,
    .doc = "For each entry `j` of example `s` with `indices[j] = mask[m]`, "
           "`y[s, m] = values[j]`; of several ones the last stays.  Entries "
           "after the last example are not looked at.",
    .source = "Glow SparseToDenseMask; Caffe2",
};

/* sparselabelsplit */

static bool
split_infer(const glow_node *n, glow_type out[])
{
    const glow_sparselabelsplit *a = n->attrs;
    glow_type y = glow_dense(n->in[2]->type);

    if (!check_list(n, 0) || !check_list(n, 1) ||
        !glow_admit(n, 2, GLOW_ANY_PLAIN) || !glow_check_shapes(n, 2, 1))
        return false;

    int64_t count = y.shape.at[0], labels = a->num_labels;

    if (labels < 1 || count % labels != 0)
        return glow_reject(n,
                           "NumLabels is %" PRId64 ", but Indices has %" PRId64
                           " elements, which it must divide",
                           labels, count);
    y.shape = GLOW_DIMS_OF(labels, count / labels);
    return glow_give(n, y, &out[0]) &&
           glow_give(n, glow_type_of(GLOW_INDEX32, y.shape), &out[1]) &&
           glow_give(n, glow_type_of(GLOW_INDEX32, GLOW_DIMS_OF(count)),
                     &out[2]);
}

static bool
split_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    int64_t labels = out[0]->type->shape.at[0];
    int64_t each = out[0]->type->shape.at[1];
    int64_t count = glow_tensor_count(in[1]), at = 0;
    int64_t *used = GLOW_NEW_ARRAY(scratch, int64_t, labels);

    for (int64_t s = 0; s < glow_tensor_count(in[0]); s++) {
        int64_t end = end_of(n, in[0], s, at, count);

        if (end < 0)
            return false;
        for (; at < end; at++) {
            int64_t label = glow_get_int(in[1], at);

            if (label < 0 || label >= labels || used[label] == each)
                return glow_reject(n,
                                   "element %" PRId64 " of Indices is %" PRId64
                                   ", but each label from 0 to %" PRId64
                                   " must occur %" PRId64 " times",
                                   at, label, labels - 1, each);
            move_run(out[0], label * each + used[label], in[2], at, 1);
            glow_set_int(out[1], label * each + used[label], s);
            glow_set_int(out[2], at, used[label]++);
        }
    }
    if (at < count)
        return glow_reject(n,
                           "the elements of Lengths are %" PRId64
                           " together, but Indices has %" PRId64,
                           at, count);
    return true;
}

const glow_op glow_op_sparselabelsplit = {
    .name = "SparseLabelSplit",
    .summary = "entries sorted by their labels",
    .in = {{"Lengths", GLOW_TENSOR,
            "integers: how many entries each example has"},
           {"Indices", GLOW_TENSOR,
            "integers: the label of each entry; all labels are equally "
            "frequent"},
           {"Values", GLOW_TENSOR, "the value of each entry"}},
    .out = {{"LabelValues", GLOW_TENSOR,
             "for each label the values of its entries"},
            {"ExampleIds", GLOW_TENSOR,
             "index32: for each label the examples of its entries"},
            {"GradientOffsetMap", GLOW_TENSOR,
             "index32: where among those of its label each entry stands"}},
    .attrs = {GLOW_FIELD(glow_sparselabelsplit, num_labels, GLOW_INT64,
                         "how many labels there are")},
    .traits = GLOW_PURE,
    .infer = split_infer,
    .eval = split_eval,
    .doc = "The entries of a label keep their order.  Results have static "
           "shapes, so each label must have as many entries as every other.",
    .source = "Glow SparseLabelSplit; Caffe2",
};

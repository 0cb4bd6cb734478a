/*
 * Sums over segments of a list: segment s of `lengths` is the run of lengths[s]
 * entries after the preceding segments.
 *
 * The other operators are lowered to SparseLengthsWeightedSum.  Entries after
 * the last segment are not read.
 */

#include "ir/ops/common.h"

static const char *const mode_words[] = {"variable", "all_one", NULL};

/* Length `s` of operand `i`, at most `left`; -1 after a report. */
static int64_t
length_at(const glow_node *n, int i, const glow_tensor *lengths, int64_t s,
          int64_t left)
{
    int64_t length = glow_get_int(lengths, s);

    if (length >= 0 && length <= left)
        return length;
    glow_reject(n,
                "element %" PRId64 " of %s is %" PRId64 ", but %" PRId64
                " entries are left",
                s, n->op->in[i].name, length, left);
    return -1;
}

/* The row of Data for element `i` of Indices; -1 after a report. */
static int64_t
row_at(const glow_node *n, const glow_tensor *indices, int64_t i, int64_t rows)
{
    int64_t x = glow_get_int(indices, i);

    if (x >= 0 && x < rows)
        return x;
    glow_reject(n,
                "element %" PRId64 " of Indices is %" PRId64
                ", but Data has %" PRId64 " rows",
                i, x, rows);
    return -1;
}

/* The entries of a sum: rows of Data, each with a weight if there are any. */
typedef struct entries {
    const glow_node *n;
    const glow_tensor *data, *weights, *indices; /* the last two may be NULL */
    int64_t rows, size;
    bool is_fused;
    double *real, *row;
    int64_t *whole;
} entries;

/* The elements of a row of Data, those of a fused kind as the columns that they are. */
static int64_t
row_size(const glow_type *data)
{
    if (glow_kind_get(data->elem)->klass == GLOW_CLASS_FUSED)
        return glow_fused_columns(data);
    return glow_dims_product(data->shape, 1, data->shape.rank);
}

static entries
entries_of(const glow_node *n, const glow_tensor *data,
           const glow_tensor *weights, const glow_tensor *indices,
           glow_arena *scratch)
{
    glow_dims shape = data->type->shape;
    int64_t size = row_size(data->type);

    return (entries){.n = n,
                     .data = data,
                     .weights = weights,
                     .indices = indices,
                     .rows = shape.at[0],
                     .size = size,
                     .is_fused = glow_fused_tail(data->type->elem) > 0,
                     .row = GLOW_NEW_ARRAY(scratch, double, size),
                     .real = GLOW_NEW_ARRAY(scratch, double, size),
                     .whole = GLOW_NEW_ARRAY(scratch, int64_t, size)};
}

static void
add_row(const entries *e, int64_t row, int64_t entry)
{
    bool is_real = e->is_fused || glow_tensor_is_float(e->data);
    double w = e->weights && is_real ? glow_get_double(e->weights, entry) : 1;
    uint64_t k =
        e->weights && !is_real ? (uint64_t)glow_get_int(e->weights, entry) : 1;

    if (e->is_fused)
        glow_fused_load(e->data, row, e->row);
    else if (is_real)
        glow_load(e->data, row * e->size, e->size, e->row);
    for (int64_t i = 0; i < e->size; i++)
        if (is_real)
            e->real[i] += w * e->row[i];
        else
            e->whole[i] = (int64_t)((uint64_t)e->whole[i] +
                                    k * (uint64_t)glow_get_int(
                                            e->data, row * e->size + i));
}

/* Result row `s` is the sum of entries [from, end). */
static bool
sum_segment(const entries *e, int64_t from, int64_t end, int64_t s,
            const glow_tensor *out)
{
    for (int64_t i = 0; i < e->size; i++) {
        e->real[i] = 0;
        e->whole[i] = 0;
    }
    for (int64_t j = from; j < end; j++) {
        int64_t row = e->indices ? row_at(e->n, e->indices, j, e->rows) : j;

        if (row < 0)
            return false;
        add_row(e, row, j);
    }
    if (glow_tensor_is_float(out)) {
        glow_store(out, s * e->size, e->size, e->real);
        return true;
    }
    for (int64_t i = 0; i < e->size; i++)
        glow_set_int(out, s * e->size + i, e->whole[i]);
    return true;
}

/* Result row s for each segment of operand `i`, which holds lengths. */
static bool
sum_lengths(const entries *e, int i, const glow_tensor *lengths, int64_t count,
            const glow_tensor *out)
{
    int64_t at = 0;

    for (int64_t s = 0; s < glow_tensor_count(lengths); s++) {
        int64_t length = length_at(e->n, i, lengths, s, count - at);

        if (length < 0 || !sum_segment(e, at, at + length, s, out))
            return false;
        at += length;
    }
    return true;
}

/*
 * Sets `*out` to a row of Data, operand `data`, for each of `count` segments.
 */
static bool
give_rows(const glow_node *n, int data, int64_t count, glow_type *out)
{
    glow_type y = glow_dense(n->in[data]->type);

    y.shape.at[0] = count;
    return glow_give(n, y, out);
}

static bool
is_fused(const glow_node *n)
{
    return glow_kind_get(n->in[0]->type->elem)->klass == GLOW_CLASS_FUSED;
}

/*
 * The same of Data that may be of a fused kind, whose columns then become floats of
 * kind `kind`.
 */
static bool
give_sums(const glow_node *n, int64_t count, glow_kind kind, glow_type *out)
{
    int64_t columns = glow_fused_columns(n->in[0]->type);

    if (!is_fused(n))
        return give_rows(n, 0, count, out);
    if (columns < 0)
        return glow_reject(
            n,
            "rows of Data have %" PRId64 " bytes, but scale and offset take %d",
            n->in[0]->type->shape.at[1], glow_fused_tail(n->in[0]->type->elem));
    return glow_give(n, glow_type_of(kind, GLOW_DIMS_OF(count, columns)), out);
}

/* Checks that operand `i` is a list of integers. */
static bool
check_list(const glow_node *n, int i)
{
    return glow_admit(n, i, GLOW_ANY_INT) && glow_check_rank(n, i, 1);
}

/* Numbers or, for sums that pick rows, quantized elements, whose sums are stated. */
static bool
check_rows(const glow_node *n)
{
    return glow_admit(n, 0, GLOW_ANY_NUMBER | GLOW_CLASS_QUANTIZED) &&
           glow_check_rank_from(n, 0, 1);
}

/* The type of sums of the rows of Data. */
static bool
give_picked(const glow_node *n, int64_t count, glow_kind kind, glow_type *out)
{
    glow_dims shape = n->in[0]->type->shape;

    if (!glow_takes_quantized(n))
        return give_sums(n, count, kind, out);
    shape.at[0] = count;
    return glow_give_quantized(n, shape, out);
}

static bool
check_data(const glow_node *n)
{
    return glow_admit(n, 0, GLOW_ANY_NUMBER) && glow_check_rank_from(n, 0, 1);
}

/* Data, numbers or fused rows, that operand 1, floats or of its kind, weights. */
static bool
check_weighted(const glow_node *n)
{
    return (is_fused(n) ? glow_admit(n, 1, GLOW_ANY_FLOAT)
                        : check_data(n) && glow_check_kinds(n, 1, 0)) &&
           glow_check_rank(n, 1, 1);
}

static int64_t
flops_of(const glow_node *n)
{
    int64_t size = row_size(n->in[0]->type), count;

    /* At most each entry is used once. */
    if (glow_mul_overflow(2 * n->in[n->n_in - 2]->type->shape.at[0], size,
                          &count))
        return INT64_MAX;
    return count;
}

#define MODE_FIELDS(type)                                                      \
    GLOW_FIELD_ENUM(type, lengths_mode, mode_words,                            \
                    "a hint: that all lengths are 1"),                         \
        GLOW_FIELD_DEFAULT(type, avg_length, GLOW_FLOAT32,                     \
                           "a hint: how long segments are on average; 0: not " \
                           "known")

#define DATA \
    {"Data", GLOW_TENSOR, "rows along the first axis, or of a fused kind"}
#define INDICES                   \
    {"Indices", GLOW_TENSOR,      \
     "integers: the row of Data " \
     "that each entry stands for"}
#define LENGTHS                                                    \
    {"Lengths", GLOW_TENSOR,                                       \
     "integers: how many entries each segment has; not more than " \
     "there "                                                      \
     "are, all together"}
#define SUMS                                                  \
    {"Result", GLOW_TENSOR,                                   \
     "as Data, with a row for each segment; of a fused kind " \
     "its columns, as floats of the kind of Weights"}

/* sparselengthsweightedsum */

static bool
weighted_infer(const glow_node *n, glow_type out[])
{
    bool ok = glow_takes_quantized(n)
                  ? check_rows(n) && glow_admit(n, 1, GLOW_CLASS_QUANTIZED) &&
                        glow_check_rank(n, 1, 1)
                  : check_weighted(n);

    return ok && check_list(n, 2) && glow_check_shapes(n, 1, 2) &&
           check_list(n, 3) &&
           give_picked(n, n->in[3]->type->shape.at[0], n->in[1]->type->elem,
                       &out[0]);
}

static bool
weighted_sums(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    entries e = entries_of(n, in[0], in[1], in[2], scratch);

    return sum_lengths(&e, 3, in[3], glow_tensor_count(in[2]), out[0]);
}

static bool
weighted_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    return glow_eval_reals(n, in, out, scratch, weighted_sums);
}

const glow_op glow_op_sparselengthsweightedsum = {
    .name = "SparseLengthsWeightedSum",
    .summary = "weighted sums of rows that are picked by number",
    .in = {DATA,
           {"Weights", GLOW_TENSOR,
            "one for each entry: of the kind of Data, floats for a fused one; "
            "quantized if Data is"},
           INDICES,
           LENGTHS},
    .out = {SUMS},
    .attrs = {MODE_FIELDS(glow_sparselengthsweightedsum)},
    .defaults = &(const glow_sparselengthsweightedsum){.avg_length = 0},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = weighted_infer,
    .eval = weighted_eval,
    .flops = flops_of,
    .doc = "`y[s, k]` is the sum of `weights[j] data[indices[j], k]` over the "
           "entries `j` of segment `s`: those after the first "
           "`lengths[0] + ... + lengths[s - 1]`.  Real numbers are added up "
           "in double precision, integers wrap around.  An empty segment has "
           "the sum 0.  A column q of a fused row counts as scale * q + "
           "offset, in double precision too.  Data and Weights of a quantized "
           "kind stand for reals, whose sums are rounded once to the stated "
           "type.",
    .source = "Glow SparseLengthsWeightedSum; Caffe2",
};

/* sparselengthssum */

static bool
sparse_infer(const glow_node *n, glow_type out[])
{
    return (is_fused(n) || check_rows(n)) && check_list(n, 1) &&
           check_list(n, 2) &&
           give_picked(n, n->in[2]->type->shape.at[0], GLOW_FLOAT, &out[0]);
}

static bool
picked_sums(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    entries e = entries_of(n, in[0], NULL, in[1], scratch);

    return sum_lengths(&e, 2, in[2], glow_tensor_count(in[1]), out[0]);
}

static bool
sparse_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    return glow_eval_reals(n, in, out, scratch, picked_sums);
}

const glow_op glow_op_sparselengthssum = {
    .name = "SparseLengthsSum",
    .summary = "sums of rows that are picked by number",
    .in = {DATA, INDICES, LENGTHS},
    .out = {SUMS},
    .attrs = {MODE_FIELDS(glow_sparselengthssum)},
    .defaults = &(const glow_sparselengthssum){.avg_length = 0},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = sparse_infer,
    .eval = sparse_eval,
    .flops = flops_of,
    .doc = "SparseLengthsWeightedSum with all weights 1: floats for a fused "
           "kind of Data, the stated type for a quantized one.",
    .source = "Glow SparseLengthsSum; Caffe2",
};

/* lengthssum */

static bool
lengths_infer(const glow_node *n, glow_type out[])
{
    return check_data(n) && check_list(n, 1) &&
           give_rows(n, 0, n->in[1]->type->shape.at[0], &out[0]);
}

static bool
lengths_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    entries e = entries_of(n, in[0], NULL, NULL, scratch);

    return sum_lengths(&e, 1, in[1], e.rows, out[0]);
}

const glow_op glow_op_lengthssum = {
    .name = "LengthsSum",
    .summary = "sums of rows that follow each other",
    .in = {DATA,
           {"Lengths", GLOW_TENSOR,
            "integers: how many rows each segment has; not more than there "
            "are, all together"}},
    .out = {SUMS},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = lengths_infer,
    .eval = lengths_eval,
    .doc = "SparseLengthsSum with the rows of Data, in order, as entries.",
    .source = "Glow LengthsSum; Caffe2",
};

/* embeddingbag */

static bool
bag_infer(const glow_node *n, glow_type out[])
{
    const glow_embeddingbag *e = n->attrs;

    if (!check_weighted(n) || !check_list(n, 2) ||
        !glow_check_shapes(n, 1, 2) || !check_list(n, 3))
        return false;

    int64_t offsets = n->in[3]->type->shape.at[0];

    if (e->has_end_offset && offsets == 0)
        return glow_reject(n, "Offsets has 0 elements, but the last end must "
                              "be there");
    return give_sums(n, offsets - e->has_end_offset, n->in[1]->type->elem,
                     &out[0]);
}

/* Offset `i`, in [least, most]; -1 after a report. */
static int64_t
offset_at(const glow_node *n, const glow_tensor *offsets, int64_t i,
          int64_t least, int64_t most)
{
    int64_t x = glow_get_int(offsets, i);

    if (x >= least && x <= most)
        return x;
    glow_reject(n,
                "element %" PRId64 " of Offsets is %" PRId64
                ", which is not within %" PRId64 " and %" PRId64,
                i, x, least, most);
    return -1;
}

static bool
bag_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    const glow_embeddingbag *a = n->attrs;
    entries e = entries_of(n, in[0], in[1], in[2], scratch);
    int64_t count = glow_tensor_count(in[2]), from;
    int64_t offsets = glow_tensor_count(in[3]);
    int64_t bags = offsets - a->has_end_offset;

    from = offsets ? offset_at(n, in[3], 0, 0, 0) : 0;
    for (int64_t s = 0; s < bags && from >= 0; s++) {
        int64_t end =
            s + 1 < offsets ? offset_at(n, in[3], s + 1, from, count) : count;

        if (end < 0 || !sum_segment(&e, from, end, s, out[0]))
            return false;
        from = end;
    }
    return from >= 0;
}

const glow_op glow_op_embeddingbag = {
    .name = "EmbeddingBag",
    .summary = "weighted sums of rows that are picked by number, by offsets",
    .in = {DATA,
           {"Weights", GLOW_TENSOR,
            "one for each entry: of the kind of Data, floats for a fused one; "
            "quantized if Data is"},
           INDICES,
           {"Offsets", GLOW_TENSOR,
            "integers, ascending from 0: where in Indices each bag begins"}},
    .out = {{"Result", GLOW_TENSOR, "as Data, with a row for each bag"}},
    .attrs = {GLOW_FIELD(glow_embeddingbag, has_end_offset, GLOW_FLAG,
                         "Offsets ends in the end of the last bag; else that "
                         "is the end of Indices"),
              MODE_FIELDS(glow_embeddingbag)},
    .defaults = &(const glow_embeddingbag){.avg_length = 0},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = bag_infer,
    .eval = bag_eval,
    .flops = flops_of,
    .doc = "SparseLengthsWeightedSum whose segments are given by where they "
           "begin.",
    .source = "Glow EmbeddingBag; PyTorch EmbeddingBag with mode sum",
};

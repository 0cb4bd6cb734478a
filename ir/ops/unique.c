/* Unique: the distinct slices of a tensor. */

#include "ir/ops/common.h"
#include "ir/ops/sort.h"

static bool
unique_infer(const glow_node *n, glow_type out[])
{
    glow_dims x = n->in[0]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_PLAIN) || !glow_check_rank_from(n, 0, 1))
        return false;
    for (int i = 0; i < 3; i++)
        if (!glow_give(n, glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(x.at[0])),
                       &out[i]))
            return false;
    return glow_give(n, glow_type_of(GLOW_INDEX64, (glow_dims){0}), &out[3]);
}

/* -1, 0, 1: element i comes before, equals, comes after j.  NaN comes last. */
static int
order(const glow_tensor *t, int64_t i, int64_t j)
{
    if (glow_tensor_is_float(t)) {
        double x = glow_get_double(t, i), y = glow_get_double(t, j);

        if (x != x || y != y)
            return (x != x) - (y != y);
        return (x > y) - (x < y);
    }

    bool is_signed = glow_tensor_is_signed(t);
    int64_t x = glow_get_int(t, i), y = glow_get_int(t, j);

    return glow_int_less(y, x, is_signed) - glow_int_less(x, y, is_signed);
}

static int
order_slices(const glow_tensor *t, int64_t size, int64_t i, int64_t j)
{
    int c = 0;

    for (int64_t k = 0; k < size && c == 0; k++)
        c = order(t, i * size + k, j * size + k);
    return c;
}

typedef struct slices {
    const glow_tensor *tensor;
    int64_t size; /* elements of each */
} slices;

static bool
stands_before(const void *user, int64_t i, int64_t j)
{
    const slices *s = user;

    return order_slices(s->tensor, s->size, i, j) < 0;
}

/*
 * Lists the first slice of each group of equal slices, in order; `group` of
 * each slice is initially its first slice.
 */
static int64_t
list_firsts(const int64_t *sorted, const int64_t *group, int64_t count,
            bool by_value, int64_t *first)
{
    int64_t found = 0;

    for (int64_t k = 0; k < count; k++) {
        int64_t i = by_value ? sorted[k] : k;

        if (group[i] == i)
            first[found++] = i;
    }
    return found;
}

static bool
unique_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape;
    int64_t count = x.at[0], size = glow_dims_product(x, 1, x.rank), found;
    const slices all = {in[0], size};
    int64_t *sorted;
    int64_t *from = GLOW_NEW_ARRAY(scratch, int64_t, count);
    int64_t *to = GLOW_NEW_ARRAY(scratch, int64_t, count);
    int64_t *group = GLOW_NEW_ARRAY(scratch, int64_t, count);
    int64_t *first = GLOW_NEW_ARRAY(scratch, int64_t, count);
    int64_t *number = GLOW_NEW_ARRAY(scratch, int64_t, count);
    int64_t *sum = GLOW_NEW_ARRAY(scratch, int64_t, count);

    for (int64_t i = 0; i < count; i++)
        from[i] = i;
    sorted = glow_sort_numbers(from, to, count, stands_before, &all);
    for (int64_t k = 0; k < count; k++)
        group[sorted[k]] =
            k > 0 && order_slices(in[0], size, sorted[k - 1], sorted[k]) == 0
                ? group[sorted[k - 1]]
                : sorted[k];
    found = list_firsts(sorted, group, count,
                        ((const glow_unique *)n->attrs)->sorted, first);
    for (int64_t k = 0; k < found; k++)
        number[first[k]] = k;
    for (int64_t i = 0; i < count; i++)
        sum[number[group[i]]]++;
    for (int64_t i = 0; i < count; i++) {
        glow_set_int(out[0], i, i < found ? first[i] : 0);
        glow_set_int(out[1], i, number[group[i]]);
        glow_set_int(out[2], i, sum[i]);
    }
    glow_set_int(out[3], 0, found);
    return true;
}

const glow_op glow_op_unique = {
    .name = "Unique",
    .summary = "which slices along the first axis differ",
    .in = {{"Input", GLOW_TENSOR, "x: n slices along the first axis"}},
    .out = {{"Indices", GLOW_TENSOR,
             "index64 [n]: the first slice of each group of equal ones, then "
             "zeros"},
            {"InverseIndices", GLOW_TENSOR,
             "index64 [n]: the number of each slice's group"},
            {"Counts", GLOW_TENSOR,
             "index64 [n]: how many slices each group has, then zeros"},
            {"Count", GLOW_TENSOR, "index64: how many groups there are"}},
    .attrs = {GLOW_FIELD(glow_unique, sorted, GLOW_FLAG,
                         "groups are in the order of their elements, else of "
                         "their first slices")},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = unique_infer,
    .eval = unique_eval,
    .doc = "`x[i]` equals `x[Indices[InverseIndices[i]]]`.  Slices are ordered "
           "by the first elements that differ; NaN is equal to itself and "
           "comes last.",
    .source = "ONNX Unique; numpy.unique",
};

/* Selection of extremes: ArgMax, ArgMin, TopK. */

#include "ir/ops/common.h"
#include "ir/ops/sort.h"

/* True if element `i` of `t` comes before element `j` by its value. */
static bool
goes_before(const glow_tensor *t, int64_t i, int64_t j, bool smallest)
{
    bool is_signed = glow_tensor_is_signed(t);

    if (glow_tensor_is_float(t)) {
        double x = glow_get_double(t, i), y = glow_get_double(t, j);

        return smallest ? glow_loses(x, y) : glow_beats(x, y);
    }
    return smallest ? glow_int_less(glow_get_int(t, i), glow_get_int(t, j),
                                    is_signed)
                    : glow_int_less(glow_get_int(t, j), glow_get_int(t, i),
                                    is_signed);
}

/* argmax, argmin */

static bool
arg_infer(const glow_node *n, glow_type out[])
{
    const glow_argmax *a = n->attrs;
    glow_dims x = n->in[0]->type->shape, y = {0};

    if (!glow_admit_real(n, 0, GLOW_ANY_NUMBER) ||
        !glow_check_axis(n, "Axis", a->axis, 0))
        return false;
    for (int i = 0; i < x.rank; i++)
        if (i != a->axis)
            y.at[y.rank++] = x.at[i];
        else if (a->keep_dims)
            y.at[y.rank++] = 1;
    if (x.at[a->axis] == 0)
        return glow_reject(n,
                           "axis %d of Input has 0 elements, but at least 1 "
                           "is needed",
                           a->axis);
    return glow_give(n, glow_type_of(GLOW_INDEX64, y), &out[0]);
}

/* The position of the first in that order of `size` elements, `step` apart. */
static int64_t
first_of(const glow_tensor *t, int64_t at, int64_t step, int64_t size,
         bool smallest, bool last)
{
    int64_t best = 0;

    for (int64_t i = 1; i < size; i++) {
        int64_t x = at + i * step, y = at + best * step;

        if (last ? !goes_before(t, y, x, smallest)
                 : goes_before(t, x, y, smallest))
            best = i;
    }
    return best;
}

static bool
arg_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         bool smallest)
{
    const glow_argmax *a = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[a->axis], to = 0;
    int64_t step = glow_dims_product(x, a->axis + 1, x.rank);
    int64_t count = glow_tensor_count(in[0]);

    for (int64_t at = 0; at < count; at += size * step)
        for (int64_t i = 0; i < step; i++)
            glow_set_int(
                out[0], to++,
                first_of(in[0], at + i, step, size, smallest, a->select_last));
    return true;
}

static bool
argmax_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    (void)scratch;
    return arg_eval(n, in, out, false);
}

static bool
argmin_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    (void)scratch;
    return arg_eval(n, in, out, true);
}

#define ARG_ATTRS                                                     \
    {GLOW_FIELD(glow_argmax, axis, GLOW_INT, "the axis"),             \
     GLOW_FIELD(glow_argmax, keep_dims, GLOW_FLAG,                    \
                "Result keeps Axis, with one element"),               \
     GLOW_FIELD_DEFAULT(glow_argmax, select_last, GLOW_FLAG,          \
                        "of equal elements the last one counts, not " \
                        "the first")}

const glow_op glow_op_argmax = {
    .name = "ArgMax",
    .summary = "where the greatest element along an axis stands",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "index64: positions along Axis"}},
    .attrs = ARG_ATTRS,
    .defaults = &(const glow_argmax){.select_last = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = arg_infer,
    .eval = argmax_eval,
    .doc = "NaN is greater than all.",
    .source = "Glow ArgMax; ONNX ArgMax",
};

const glow_op glow_op_argmin = {
    .name = "ArgMin",
    .summary = "where the least element along an axis stands",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "index64: positions along Axis"}},
    .attrs = ARG_ATTRS,
    .defaults = &(const glow_argmin){.select_last = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = arg_infer,
    .eval = argmin_eval,
    .doc = "NaN is less than all.",
    .source = "Glow ArgMin; ONNX ArgMin",
};

/* topk */

static bool
topk_infer(const glow_node *n, glow_type out[])
{
    const glow_topk *t = n->attrs;
    glow_type y = glow_dense(n->in[0]->type);
    int last = y.shape.rank - 1;

    if (!glow_admit_real(n, 0, GLOW_ANY_NUMBER) ||
        !glow_check_rank_from(n, 0, 1))
        return false;
    if (t->k < 0 || t->k > y.shape.at[last])
        return glow_reject(n,
                           "K is %" PRId64 ", but the last axis of Input has "
                           "%" PRId64 " elements",
                           t->k, y.shape.at[last]);
    y.shape.at[last] = t->k;
    return glow_give(n, y, &out[0]) &&
           glow_give(n, glow_rekinded(&y, GLOW_INDEX64), &out[1]);
}

typedef struct sorted_row {
    const glow_tensor *tensor;
    int64_t first; /* its first element */
    bool smallest;
} sorted_row;

static bool
stands_before(const void *user, int64_t i, int64_t j)
{
    const sorted_row *r = user;

    return goes_before(r->tensor, r->first + i, r->first + j, r->smallest);
}

static bool
topk_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_topk *t = n->attrs;
    glow_dims x = in[0]->type->shape, none = {0};
    int64_t size = x.at[x.rank - 1], to = 0;
    int64_t *a, *b;

    if (glow_tensor_count(out[0]) == 0)
        return true;
    a = GLOW_NEW_ARRAY(scratch, int64_t, size);
    b = GLOW_NEW_ARRAY(scratch, int64_t, size);
    for (int64_t row = 0; row < glow_tensor_count(in[0]); row += size) {
        const sorted_row r = {in[0], row, t->smallest};
        int64_t *sorted;

        for (int64_t i = 0; i < size; i++)
            a[i] = i;
        sorted = glow_sort_numbers(a, b, size, stands_before, &r);
        for (int64_t i = 0; i < t->k; i++, to++) {
            glow_copy_block(out[0], to, none, in[0], row + sorted[i], none,
                            none);
            glow_set_int(out[1], to, sorted[i]);
        }
    }
    return true;
}

const glow_op glow_op_topk = {
    .name = "TopK",
    .summary = "the greatest elements along the last axis, in order",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Values", GLOW_TENSOR, "the shape of Input, with K at the end"},
            {"Indices", GLOW_TENSOR,
             "index64: where along the last axis they stand"}},
    .attrs = {GLOW_FIELD(glow_topk, k, GLOW_INT64, "how many"),
              GLOW_FIELD_DEFAULT(glow_topk, smallest, GLOW_FLAG,
                                 "the least elements, not the greatest")},
    .defaults = &(const glow_topk){.smallest = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = topk_infer,
    .eval = topk_eval,
    .doc = "Equal elements come in the order of Input.  NaN comes first.",
    .source = "Glow TopK; ONNX TopK, sorted",
    .derivative = &glow_derivative_topk,
};

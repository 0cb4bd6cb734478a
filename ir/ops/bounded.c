/*
 * Results of bounded size: NonZero returns their length beside them, and Bound
 * zeroes the elements behind a length.
 */

#include "ir/ops/common.h"

/* nonzero */

static bool
nonzero_infer(const glow_node *n, glow_type out[])
{
    glow_dims x = n->in[0]->type->shape;
    glow_dims y = GLOW_DIMS_OF(x.rank, glow_dims_count(x));

    return glow_admit(n, 0, GLOW_ANY_PLAIN) &&
           glow_give(n, glow_type_of(GLOW_INDEX64, y), &out[0]) &&
           glow_give(n, glow_type_of(GLOW_INDEX64, (glow_dims){0}), &out[1]);
}

static void
fill_zero(const glow_tensor *t)
{
    for (int64_t i = 0; i < glow_tensor_count(t); i++)
        glow_set_int(t, i, 0);
}

static bool
nonzero_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape;
    int64_t size = glow_dims_count(x), at = 0, found = 0;
    bool real = glow_tensor_is_float(in[0]);

    (void)n, (void)scratch;
    fill_zero(out[0]);
    GLOW_FOR_EACH_INDEX(i, x) {
        bool is_zero = real ? glow_get_double(in[0], at) == 0
                            : glow_get_int(in[0], at) == 0;

        at++;
        if (is_zero)
            continue;
        for (int d = 0; d < x.rank; d++)
            glow_set_int(out[0], d * size + found, i.at[d]);
        found++;
    }
    glow_set_int(out[1], 0, found);
    return true;
}

const glow_op glow_op_nonzero = {
    .name = "NonZero",
    .summary = "where a tensor is not zero",
    .in = {{"Input", GLOW_TENSOR, "x, of rank r and n elements"}},
    .out = {{"Result", GLOW_TENSOR,
             "index64 [r, n]: a column for each element that is not zero, in "
             "row-major order, then zeros"},
            {"Count", GLOW_TENSOR, "index64: how many columns count"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = nonzero_infer,
    .eval = nonzero_eval,
    .doc = "`x[y[0, k], y[1, k], ..]` is the k-th element that is not zero, "
           "for `k < Count`.  NaN is not zero.",
    .source = "Glow NonZero; ONNX NonZero",
};

/* bound */

static bool
bound_infer(const glow_node *n, glow_type out[])
{
    const glow_bound *b = n->attrs;

    return glow_admit(n, 0, GLOW_ANY_UNFUSED) &&
           glow_admit(n, 1, GLOW_ANY_INT) &&
           glow_check_shape(n, 1, (glow_dims){0}, "a scalar's") &&
           glow_check_axis(n, "Axis", b->axis, 0) &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
bound_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    int axis = ((const glow_bound *)n->attrs)->axis;
    glow_dims x = in[0]->type->shape;
    int64_t rest = glow_dims_product(x, axis + 1, x.rank);
    int64_t count = glow_get_int(in[1], 0);

    (void)scratch;
    if (in[0]->data != out[0]->data)
        glow_tensor_copy(out[0], in[0]);
    for (int64_t i = 0; i < glow_tensor_count(in[0]); i++)
        if (i / rest % x.at[axis] >= count)
            glow_set_real(out[0], i, 0);
    return true;
}

const glow_op glow_op_bound = {
    .name = "Bound",
    .summary = "make zero what lies behind the end of a bounded tensor",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Count", GLOW_TENSOR, "an integer: how much counts"}},
    .out = {{"Result", GLOW_TENSOR, "y, of the type of Input"}},
    .attrs = {GLOW_FIELD(glow_bound, axis, GLOW_INT, "the axis")},
    .traits = GLOW_PURE,
    .infer = bound_infer,
    .eval = bound_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[.., i, ..]` is `x[.., i, ..]` where `i < Count`, else 0.",
    .source = "what NonZero, Unique and NonMaxSuppression promise",
};

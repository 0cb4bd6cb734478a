/* ConvertRows: rows of floats or of a fused kind as rows of another. */

#include "ir/ops/common.h"

static bool
is_fused(const glow_type *t)
{
    return glow_fused_tail(t->elem) > 0;
}

/* The bytes of a row of `columns` in `kind`; of floats the columns.  -1: none. */
static int64_t
row_length(glow_kind kind, int64_t columns)
{
    int tail = glow_fused_tail(kind);

    if (tail == 0)
        return columns;
    if (glow_kind_get(kind)->bits == 8)
        return columns + tail;
    return columns % 2 ? -1 : columns / 2 + tail;
}

static bool
convertrows_infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[0]->type;
    int64_t columns, length;

    if (!glow_check_stated(n, &out[0]) ||
        !glow_admit(n, 0, GLOW_CLASS_FLOAT | GLOW_CLASS_FUSED) ||
        !glow_check_rank(n, 0, 2))
        return false;
    if (!glow_is_float(out[0].elem) && !is_fused(&out[0]))
        return glow_reject(n,
                           "the elements of Result are %s, but must be floats "
                           "or of a fused kind",
                           glow_kind_get(out[0].elem)->name);
    if (!is_fused(x) && !is_fused(&out[0]))
        return glow_reject(n, "neither Input nor Result is of a fused kind, "
                              "and ConvertTo converts floats");
    columns = is_fused(x) ? glow_fused_columns(x) : x->shape.at[1];
    if (columns < 0)
        return glow_reject(n,
                           "rows of Input have %" PRId64
                           " bytes, but scale and offset take %d",
                           x->shape.at[1], glow_fused_tail(x->elem));
    length = row_length(out[0].elem, columns);
    if (length < 0)
        return glow_reject(
            n, "rows have %" PRId64 " columns, but %s has two in a byte",
            columns, glow_kind_get(out[0].elem)->name);
    return glow_give(
        n, glow_type_of(out[0].elem, GLOW_DIMS_OF(x->shape.at[0], length)),
        &out[0]);
}

static bool
convertrows_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    const glow_type *x = in[0]->type;
    int64_t columns = is_fused(x) ? glow_fused_columns(x) : x->shape.at[1];
    double *v = GLOW_NEW_ARRAY(scratch, double, columns);

    (void)n;
    for (int64_t row = 0; row < x->shape.at[0]; row++) {
        if (is_fused(x))
            glow_fused_load(in[0], row, v);
        else
            glow_load(in[0], row * columns, columns, v);
        if (is_fused(out[0]->type))
            glow_fused_store(out[0], row, v);
        else
            glow_store(out[0], row * columns, columns, v);
    }
    return true;
}

const glow_op glow_op_convertrows = {
    .name = "ConvertRows",
    .summary = "rows of floats or of a fused kind, as rows of another",
    .in = {{"Input", GLOW_TENSOR, "[R, C]: floats, or of a fused kind"}},
    .out = {{"Result", GLOW_TENSOR,
             "as many rows and columns, of the stated kind: floats or fused"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = convertrows_infer,
    .eval = convertrows_eval,
    .doc =
        "From a fused kind: `scale * q + offset`, rounded to the kind of "
        "Result.  To a fused kind: the offset is the least number of the "
        "row, the scale `(most - least) / 255`, of 4 bits 15, both in float "
        "and then in the kind of the tail, a scale of 0 being 1; `q = rint((x "
        "- offset) / scale)`, ties to even, held to the range.  Infinities are "
        "held to the range too, and NaN becomes the offset.",
    .source = "Glow's conversions of fused rows; Caffe2 "
              "FloatToFused8BitRowwiseQuantized",
};

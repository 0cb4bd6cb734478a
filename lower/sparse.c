#include "lower/sparse.h"

static glow_dims
list(int64_t count)
{
    return GLOW_DIMS_OF(count);
}

glow_value *
glow_lower_upright(glow_builder *b, glow_value *v)
{
    if (!v)
        return NULL;
    return glow_build_reshape(b, v, GLOW_DIMS_OF(glow_type_count(v->type), 1));
}

glow_value *
glow_lower_rows(glow_builder *b, glow_value *v, int64_t from, int64_t count)
{
    if (!v || (from == 0 && count == v->type->shape.at[0]))
        return v;

    glow_type type = *v->type;
    glow_dims start = {.rank = type.shape.rank};

    type.shape.at[0] = count;
    type.strides = (glow_dims){0};
    start.at[0] = from;
    return GLOW_BUILD_STATED(b, slice,
                             glow_type_get(glow_builder_context(b), type),
                             GLOW_IN(v), .start = start);
}

glow_value *
glow_lower_append(glow_builder *b, glow_value *x, glow_value *y)
{
    return x && y ? GLOW_BUILD(b, concat, GLOW_IN(x, y), .dim = 0) : NULL;
}

glow_value *
glow_lower_steps(glow_builder *b, glow_value *v)
{
    int64_t count = v ? v->type->shape.at[0] - 1 : 0;

    glow_value *before = glow_lower_rows(b, v, 0, count);

    return glow_build_sub(b, glow_lower_rows(b, v, 1, count), before);
}

glow_value *
glow_lower_runs(glow_builder *b, glow_value *lengths, int64_t count)
{
    int64_t runs = lengths ? lengths->type->shape.at[0] : 0;
    glow_value *zeros = glow_lower_number(b, list(count + 1), 0);
    glow_value *ones = glow_lower_number(b, list(runs), 1);

    if (!lengths)
        return NULL;
    if (runs == 0)
        return glow_lower_rows(b, zeros, 0, count);

    glow_value *ends = GLOW_BUILD(b, cumsum, GLOW_IN(lengths), .dim = 0);
    glow_value *marks = GLOW_BUILD(
        b, scatterdata, GLOW_IN(zeros, glow_lower_upright(b, ends), ones),
        .reduction = GLOW_SCATTER_ADD);

    marks = GLOW_BUILD(b, cumsum, GLOW_IN(marks), .dim = 0);
    return glow_lower_rows(b, marks, 0, count);
}

glow_value *
glow_lower_used(glow_builder *b, glow_value *indices, glow_value *of,
                const glow_value *lengths)
{
    glow_dims shape = indices->type->shape;
    glow_value *at = glow_lower_convert(b, indices, GLOW_INDEX64);
    glow_value *end = glow_lower_number(b, shape, lengths->type->shape.at[0]);
    glow_value *zeros = glow_lower_number(b, shape, 0), *in;

    if (!of || !end)
        return NULL;
    in = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(of, end));
    return glow_build_select(b, in, at, zeros);
}

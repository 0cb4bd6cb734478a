#include "lower/index.h"

#include <string.h>

static const glow_type *
type_of(glow_builder *b, glow_kind kind, glow_dims shape)
{
    return glow_type_get(glow_builder_context(b), glow_type_of(kind, shape));
}

glow_value *
glow_lower_list(glow_builder *b, const char *suffix, const int64_t *at,
                int64_t count)
{
    glow_value *v = glow_build_constant(
        b, suffix, type_of(b, GLOW_INDEX64, GLOW_DIMS_OF(count)));

    if (v && count > 0)
        memcpy(v->storage->tensor.data, at, (size_t)count * sizeof *at);
    return v;
}

glow_value *
glow_lower_iota(glow_builder *b, int64_t count, int64_t step)
{
    int64_t *at = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, count);

    for (int64_t i = 0; i < count; i++)
        at[i] = i * step;
    return glow_lower_list(b, "iota", at, count);
}

glow_value *
glow_lower_transpose(glow_builder *b, glow_value *v, glow_dims shuffle)
{
    bool moves = false;

    for (int i = 0; i < shuffle.rank; i++)
        moves |= shuffle.at[i] != i;
    return v && moves ? GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = shuffle)
                      : v;
}

glow_value *
glow_lower_head(glow_builder *b, glow_value *v, glow_dims size)
{
    if (!v || glow_dims_equal(v->type->shape, size))
        return v;

    glow_type type = *v->type;

    type.shape = size;
    type.strides = (glow_dims){0};
    return GLOW_BUILD_STATED(b, slice,
                             glow_type_get(glow_builder_context(b), type),
                             GLOW_IN(v), .start = {.rank = size.rank});
}

glow_dims
glow_lower_move(int rank, int axis, int to)
{
    glow_dims p = {.rank = rank};

    for (int i = 0, from = 0; i < rank; i++) {
        if (from == axis)
            from++;
        p.at[i] = i == to ? axis : from++;
    }
    return p;
}

glow_dims
glow_lower_unmove(int rank, int axis, int to)
{
    return glow_lower_move(rank, to, axis);
}

glow_value *
glow_lower_number(glow_builder *b, glow_dims shape, int64_t x)
{
    return glow_build_splat(b, "number", type_of(b, GLOW_INDEX64, shape),
                            (double)x);
}

glow_value *
glow_lower_positions(glow_builder *b, glow_value *v, int64_t size)
{
    if (!v)
        return NULL;

    bool is_signed = glow_kind_get(v->type->elem)->is_signed;
    glow_dims shape = v->type->shape;

    v = glow_lower_convert(b, v, GLOW_INDEX64);
    if (!is_signed)
        return v;

    glow_value *below =
        GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(v, glow_lower_number(b, shape, 0)));
    glow_value *moved = glow_build_add(b, v, glow_lower_number(b, shape, size));

    return glow_build_select(b, below, moved, v);
}

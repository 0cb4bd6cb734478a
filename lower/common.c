#include "lower/common.h"

/* The dense type that elementwise results of `v` have. */
static const glow_type *
dense(glow_builder *b, const glow_type *type)
{
    glow_type t = *type;

    t.strides = (glow_dims){0};
    return glow_type_get(glow_builder_context(b), t);
}

/* Splat holds a float; what that cannot hold is one constant, repeated. */
glow_value *
glow_lower_splat(glow_builder *b, const glow_type *type, double v)
{
    if (type->elem == GLOW_FLOAT64 && (double)(float)v != v) {
        glow_type scalar = glow_type_of(GLOW_FLOAT64, (glow_dims){0});

        return glow_lower_spread(
            b,
            glow_build_splat(b, "scalar",
                             glow_type_get(glow_builder_context(b), scalar), v),
            0, type->shape);
    }
    return glow_build(b, &glow_op_splat, dense(b, type), NULL, 0,
                      &(const glow_splat){.value = (float)v});
}

glow_value *
glow_lower_spread(glow_builder *b, glow_value *v, int axis, glow_dims shape)
{
    return GLOW_BUILD(b, broadcast, GLOW_IN(v), .axis = axis,
                      .target_dim = shape);
}

glow_value *
glow_lower_reshape(glow_builder *b, glow_value *v, glow_dims shape)
{
    if (!v || glow_dims_equal(v->type->shape, shape))
        return v;
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = shape);
}

glow_value *
glow_lower_add(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, add, GLOW_IN(x, y));
}

glow_value *
glow_lower_sub(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, sub, GLOW_IN(x, y));
}

glow_value *
glow_lower_mul(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, mul, GLOW_IN(x, y));
}

glow_value *
glow_lower_div(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, div, GLOW_IN(x, y));
}

glow_value *
glow_lower_plus(glow_builder *b, glow_value *x, double y)
{
    return x ? glow_lower_add(b, x, glow_lower_splat(b, x->type, y)) : NULL;
}

glow_value *
glow_lower_times(glow_builder *b, glow_value *x, double y)
{
    return x ? glow_lower_mul(b, x, glow_lower_splat(b, x->type, y)) : NULL;
}

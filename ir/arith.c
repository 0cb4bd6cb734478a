#include "glow/arith.h"

#include "glow/ops.h"

glow_value *
glow_build_add(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, add, GLOW_IN(x, y));
}

glow_value *
glow_build_sub(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, sub, GLOW_IN(x, y));
}

glow_value *
glow_build_mul(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, mul, GLOW_IN(x, y));
}

glow_value *
glow_build_div(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, div, GLOW_IN(x, y));
}

glow_value *
glow_build_neg(glow_builder *b, glow_value *x)
{
    return GLOW_BUILD_PLAIN(b, neg, GLOW_IN(x));
}

glow_value *
glow_build_sqrt(glow_builder *b, glow_value *x)
{
    return GLOW_BUILD_PLAIN(b, sqrt, GLOW_IN(x));
}

glow_value *
glow_build_log(glow_builder *b, glow_value *x)
{
    return GLOW_BUILD_PLAIN(b, log, GLOW_IN(x));
}

glow_value *
glow_build_select(glow_builder *b, glow_value *cond, glow_value *x,
                  glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, select, GLOW_IN(cond, x, y));
}

glow_value *
glow_build_reshape(glow_builder *b, glow_value *v, glow_dims shape)
{
    if (!v || glow_dims_equal(v->type->shape, shape))
        return v;
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = shape);
}

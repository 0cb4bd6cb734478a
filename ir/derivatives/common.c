/* Building blocks of rules. */

#include "ir/derivatives/common.h"

#include "glow/match.h"

glow_value *
glow_grad_number(glow_builder *b, const glow_value *like, double v)
{
    return like ? glow_build_like(b, like, v) : NULL;
}

glow_value *
glow_grad_times(glow_builder *b, double v, glow_value *x)
{
    return glow_build_mul(b, x, glow_grad_number(b, x, v));
}

glow_value *
glow_grad_plus(glow_builder *b, double v, glow_value *x)
{
    return glow_build_add(b, x, glow_grad_number(b, x, v));
}

glow_value *
glow_grad_from(glow_builder *b, double v, glow_value *x)
{
    return glow_build_sub(b, glow_grad_number(b, x, v), x);
}

glow_value *
glow_grad_below(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(x, y));
}

glow_value *
glow_grad_equal(glow_builder *b, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(x, y));
}

glow_value *
glow_grad_is(glow_builder *b, glow_value *x, double y)
{
    return glow_grad_equal(b, x, glow_grad_number(b, x, y));
}

glow_value *
glow_grad_where(glow_builder *b, glow_value *cond, glow_value *d)
{
    return glow_build_select(b, cond, d, glow_grad_number(b, d, 0));
}

glow_value *
glow_grad_guarded(glow_builder *b, glow_value *d, glow_value *product)
{
    return glow_build_select(b, glow_grad_is(b, d, 0), d, product);
}

glow_value *
glow_grad_transpose(glow_builder *b, glow_value *v, glow_dims shuffle)
{
    return GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = shuffle);
}

static const glow_type *
of_shape(glow_builder *b, const glow_value *like, glow_dims shape)
{
    return glow_type_get(glow_builder_context(b),
                         glow_type_of(like->type->elem, shape));
}

glow_value *
glow_grad_slice(glow_builder *b, glow_value *v, glow_dims start,
                glow_dims steps, glow_dims shape)
{
    if (!v)
        return NULL;
    return GLOW_BUILD_STATED(b, slice, of_shape(b, v, shape), GLOW_IN(v),
                             .start = start, .steps = steps);
}

glow_value *
glow_grad_sum(glow_builder *b, glow_value *v, glow_dims axes)
{
    if (!v || axes.rank == 0)
        return v;
    return GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = axes);
}

glow_value *
glow_grad_repeat(glow_builder *b, glow_value *v, glow_dims axes,
                 glow_dims shape)
{
    glow_dims kept = shape;

    if (!v || axes.rank == 0)
        return v;
    for (int i = 0; i < axes.rank; i++)
        kept.at[axes.at[i]] = 1;
    return GLOW_BUILD(b, broadcast, GLOW_IN(glow_build_reshape(b, v, kept)),
                      .axis = 0, .target_dim = shape);
}

glow_dims
glow_grad_axes(int first, int last)
{
    glow_dims axes = {.rank = 0};

    for (int i = first; i < last; i++)
        axes.at[axes.rank++] = i;
    return axes;
}

glow_value *
glow_grad_zeros(glow_builder *b, const glow_value *like, glow_dims shape)
{
    return glow_build_splat(b, "zero", of_shape(b, like, shape), 0);
}

#include "lower/loss.h"

static glow_dims
all_axes(const glow_value *v)
{
    glow_dims axes = {.rank = v->type->shape.rank};

    for (int i = 0; i < axes.rank; i++)
        axes.at[i] = i;
    return axes;
}

glow_value *
glow_lower_sum(glow_builder *b, glow_value *v)
{
    return v ? GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = all_axes(v))
             : NULL;
}

glow_value *
glow_lower_class(glow_builder *b, glow_value *target, int64_t classes)
{
    glow_value *none;

    if (!target || !glow_kind_get(target->type->elem)->is_signed)
        return target;
    target = glow_lower_convert(b, target, GLOW_INDEX64);
    if (!target)
        return NULL;
    none = glow_lower_splat(b, target->type, (double)classes);
    return glow_build_select(b, glow_lower_below(b, target, 0), none, target);
}

/* Sums of 16-bit floats are computed in float, so that they do not overflow. */
glow_value *
glow_lower_loss(glow_builder *b, glow_value *v, glow_value *weights,
                int reduction)
{
    if (!v || reduction == GLOW_LOSS_NONE)
        return v;
    if (reduction == GLOW_LOSS_MEAN && !weights)
        return GLOW_BUILD(b, batchedreducemean, GLOW_IN(v),
                          .axes = all_axes(v));

    glow_kind kind = v->type->elem;
    glow_kind wide = kind == GLOW_FLOAT64 ? kind : GLOW_FLOAT;
    glow_value *y = glow_lower_sum(b, glow_lower_convert(b, v, wide));

    if (reduction == GLOW_LOSS_MEAN)
        y = glow_build_div(
            b, y, glow_lower_sum(b, glow_lower_convert(b, weights, wide)));
    return glow_lower_convert(b, y, kind);
}

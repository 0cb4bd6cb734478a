/*
 * Interpolation of one axis at constant positions: a Gather of the taps, of
 * shape [before, taps * count, rest], and their weighted sum.
 */

#include "lower/sample.h"

static glow_value *
from_constant(glow_builder *b, const glow_samples *s)
{
    glow_type type =
        glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(s->taps * s->count));
    glow_value *v = glow_build_constant(
        b, "from", glow_type_get(glow_builder_context(b), type));

    for (int64_t i = 0; i < s->taps * s->count && v; i++)
        glow_set_int(&v->storage->tensor, i, s->from[i]);
    return v;
}

static glow_value *
weights(glow_builder *b, const glow_samples *s, glow_kind kind)
{
    glow_type type = glow_type_of(kind, GLOW_DIMS_OF(s->taps, s->count));
    glow_value *v = glow_build_constant(
        b, "weights", glow_type_get(glow_builder_context(b), type));

    for (int64_t i = 0; i < s->taps * s->count && v; i++)
        glow_set_double(&v->storage->tensor, i, s->weight[i]);
    return v;
}

glow_value *
glow_lower_sum_axis(glow_builder *b, glow_value *x, int axis,
                    const glow_samples *s, bool nearest)
{
    glow_dims to = x->type->shape;
    int64_t before = glow_dims_product(to, 0, axis);
    int64_t rest = glow_dims_product(to, axis + 1, to.rank);
    glow_dims flat = GLOW_DIMS_OF(before, to.at[axis], rest);
    glow_dims taps = GLOW_DIMS_OF(before, s->taps, s->count, rest);
    glow_value *v = glow_build_reshape(b, x, flat);

    to.at[axis] = s->count;
    v = GLOW_BUILD(b, gather, GLOW_IN(v, from_constant(b, s)), .axis = 1);
    if (!nearest) {
        v = glow_build_reshape(b, v, taps);
        v = glow_build_mul(
            b, v, glow_lower_spread(b, weights(b, s, x->type->elem), 1, taps));
        v = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v),
                       .axes = GLOW_DIMS_OF(1));
    }
    return glow_build_reshape(b, v, to);
}

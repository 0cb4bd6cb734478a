#include "lower/quantizedproduct.h"

static const glow_type *
type_of(glow_builder *b, glow_type type)
{
    return glow_type_get(glow_builder_context(b), type);
}

glow_value *
glow_lower_channel_scales(glow_builder *b, const char *suffix, int64_t count,
                          float v)
{
    return glow_build_splat(
        b, suffix, type_of(b, glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(count))),
        (double)v);
}

glow_value *
glow_lower_channel_offsets(glow_builder *b, const char *suffix, int64_t count,
                           int32_t v)
{
    glow_value *splat = glow_build_splat(
        b, suffix, type_of(b, glow_type_of(GLOW_INDEX32, GLOW_DIMS_OF(count))),
        (double)v);

    if (splat)
        splat->storage->splat_int = v;
    return splat;
}

float
glow_lower_unit(const glow_node *n)
{
    return (float)((double)n->in[0]->type->scale *
                   (double)n->in[1]->type->scale);
}

glow_value *
glow_lower_bias(glow_builder *b, glow_value *bias, int64_t count, float unit)
{
    glow_type type = glow_type_of(GLOW_INT32Q, GLOW_DIMS_OF(count));

    type.scale = unit;
    if (!bias)
        return glow_build_splat(b, "bias", type_of(b, type), 0);
    if (bias->type->elem == GLOW_INT32Q && bias->type->scale == unit &&
        bias->type->offset == 0)
        return bias;
    return GLOW_BUILD_STATED_PLAIN(b, rescalequantized, type_of(b, type),
                                   GLOW_IN(bias));
}

/*
 * lower-dequantizelinear: subtract the offset, convert, multiply.
 *
 *     %y = DequantizeLinear(%x, %s, %z) : float<..>
 *         =>
 *     %d = ConvertTo(ConvertTo(%x) - [ConvertTo(%z)]) : float
 *     %y = %d * [%s]
 *
 * The difference is of index32, of index64 where %x has 32 bits.  [..] is as in
 * lower-quantizelinear.
 */

#include "lower/quantizelinear.h"

/* x - z as floats; of floats of low precision x. */
static glow_value *
difference(glow_builder *b, const glow_node *n)
{
    const glow_dequantizelinear *q = n->attrs;
    glow_value *x = n->in[0], *z = n->in[2];
    bool is_wide = glow_kind_get(x->type->elem)->bits == 32;
    glow_kind kind = is_wide ? GLOW_INDEX64 : GLOW_INDEX32;

    if (z && !glow_is_real(x->type->elem)) {
        z = glow_lower_convert(b, z, kind);
        z = glow_lower_scales(b, z, q->axis, q->block_size, x->type->shape);
        x = glow_build_sub(b, glow_lower_convert(b, x, kind), z);
    }
    return glow_lower_convert(b, x, GLOW_FLOAT);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_dequantizelinear *q = n->attrs;
    glow_value *s = glow_lower_convert(b, n->in[1], GLOW_FLOAT);

    s = glow_lower_scales(b, s, q->axis, q->block_size, n->out[0]->type->shape);
    return glow_lower_convert(b, glow_build_mul(b, difference(b, n), s),
                              n->out[0]->type->elem);
}

const glow_pass glow_pass_lower_dequantizelinear = {
    .name = "lower-dequantizelinear",
    .summary = "express DequantizeLinear by a product with the scales",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_dequantizelinear,
    .rewrite = lower,
};

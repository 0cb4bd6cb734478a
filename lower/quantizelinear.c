/*
 * lower-quantizelinear: divide, round, add the offset, convert.
 *
 *     %y = QuantizeLinear(%x, %s, %z) : int8<..>
 *         =>
 *     %d = Div(%x, [%s])
 *     %r = ConvertTo(Round(%d)) : float
 *     %r = Select(IsNaN(%r), 0, %r)
 *     %y = ConvertTo(%r + [%z]) : int8<..>              which saturates
 *
 *     %y = QuantizeLinear(%x, %s) : float8..<..>
 *         =>  ConvertTo(Div(%x, [%s])) : float8..<..>   or ConvertToFloat8
 *
 * [..] repeats scales and offsets along the axes that have none, and each element
 * BlockSize times along Axis.  A sum of a rounded quotient and an offset of 16 bits is
 * exact in float, or far out of range.
 */

#include "lower/quantizelinear.h"

/* Each element of `v` along `axis` repeated `block` times, cut to `shape`. */
static glow_value *
repeat_blocks(glow_builder *b, glow_value *v, int axis, int64_t block,
              glow_dims shape)
{
    glow_dims outer = {.rank = 3}, flat = shape;
    int64_t have = v->type->shape.at[axis];

    if (block > shape.at[axis])
        block = shape.at[axis]; /* there is one */

    /* Three axes suffice: all before, blocks, all behind. */
    outer.at[0] = glow_dims_product(shape, 0, axis) * have;
    outer.at[1] = 1;
    outer.at[2] = glow_dims_product(shape, axis + 1, shape.rank);
    v = glow_build_reshape(b, v, outer);
    outer.at[1] = block;
    v = glow_lower_spread(b, v, 0, outer);
    flat.at[axis] = have * block;
    v = glow_build_reshape(b, v, flat);
    return glow_lower_cut(b, v, axis, 0, shape.at[axis]);
}

glow_value *
glow_lower_scales(glow_builder *b, glow_value *v, int axis, int64_t block,
                  glow_dims shape)
{
    if (!v)
        return NULL;
    if (v->type->shape.rank == 0)
        return glow_lower_spread(b, v, 0, shape);
    if (block > 0)
        return repeat_blocks(b, v, axis, block, shape);
    return glow_lower_spread(b, v, axis, shape);
}

static glow_value *
to_low_float(glow_builder *b, const glow_node *n, glow_value *v)
{
    const glow_quantizelinear *q = n->attrs;

    if (q->saturate)
        return glow_lower_convert(b, v, n->out[0]->type->elem);
    return GLOW_BUILD_STATED(b, converttofloat8, n->out[0]->type, GLOW_IN(v),
                             .saturate = false, .round = GLOW_ROUND_UP);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_quantizelinear *q = n->attrs;
    glow_kind to = n->out[0]->type->elem;
    glow_dims shape = n->out[0]->type->shape;
    glow_value *s =
        glow_lower_scales(b, n->in[1], q->axis, q->block_size, shape);
    glow_value *v = glow_build_div(b, n->in[0], s), *nan;

    if (glow_kind_get(to)->format)
        return to_low_float(b, n, v);
    v = GLOW_BUILD_PLAIN(b, round, GLOW_IN(v));
    if (v && glow_lower_is_short(v->type->elem))
        v = glow_lower_convert(b, v, GLOW_FLOAT);
    nan = GLOW_BUILD_PLAIN(b, isnan, GLOW_IN(v));
    if (!nan)
        return NULL;
    v = glow_build_select(b, nan, glow_lower_splat(b, v->type, 0), v);
    if (n->in[2]) {
        glow_value *z = glow_lower_convert(b, n->in[2], v->type->elem);

        v = glow_build_add(
            b, v, glow_lower_scales(b, z, q->axis, q->block_size, shape));
    }
    return glow_lower_convert(b, v, to);
}

const glow_pass glow_pass_lower_quantizelinear = {
    .name = "lower-quantizelinear",
    .summary = "express QuantizeLinear by a quotient that is rounded",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_quantizelinear,
    .rewrite = lower,
};

/*
 * lower-blockwisequantizedfullyconnected: weights as floats, and a product of floats.
 *
 *     %y = BlockwiseQuantizedFullyConnected(%x, %w, %s, %z, %b) {Bits: 4, ..}
 *         =>
 *     %q = Concat(BitwiseAnd(%w, 15), BitShift(%w, 4))      [N, blocks, BlockSize]
 *     %f = (ConvertTo(%q) - [ConvertTo(%z)]) * [%s]
 *     %t = Transpose(Slice(Reshape(%f)))                    [K, N]
 *     %y = FullyConnected(%x, %t, %b)
 *
 * With Bits 8, %q is %w.  The halves of a byte become neighbours by a Concat along a
 * last axis of 2.  [..] repeats a number along its block.  Floats of 16 bits are
 * multiplied as floats of 32.
 */

#include "lower/common.h"
#include "lower/index.h"

static glow_value *
nibbles(glow_builder *b, glow_value *w)
{
    glow_dims each = w->type->shape, flat = each;
    glow_value *low = GLOW_BUILD_PLAIN(
        b, bitwiseand, GLOW_IN(w, glow_lower_splat_int(b, w->type, 15)));
    glow_value *high =
        GLOW_BUILD(b, bitshift, GLOW_IN(w, glow_lower_splat_int(b, w->type, 4)),
                   .direction = GLOW_SHIFT_RIGHT);

    each.at[each.rank++] = 1;
    flat.at[flat.rank - 1] *= 2;
    low = glow_lower_reshape(b, low, each);
    high = glow_lower_reshape(b, high, each);
    return glow_lower_reshape(
        b, GLOW_BUILD(b, concat, GLOW_IN(low, high), .dim = each.rank - 1),
        flat);
}

/* Weights [K, N] of the kind `kind`. */
static glow_value *
weights(glow_builder *b, const glow_node *n, glow_kind kind)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    glow_value *w = q->bits == 4 ? nibbles(b, n->in[1]) : n->in[1], *zero,
               *scale;
    glow_dims shape;

    if (glow_builder_failed(b))
        return NULL;
    shape = w->type->shape;
    w = glow_lower_convert(b, w, kind);
    if (n->in[3])
        zero = glow_lower_spread(b, glow_lower_convert(b, n->in[3], kind), 0,
                                 shape);
    else
        zero = glow_lower_splat(b, w->type, 1 << (q->bits - 1));
    w = glow_lower_sub(b, w, zero);
    scale = glow_lower_convert(b, n->in[2], kind);
    w = glow_lower_mul(b, w, glow_lower_spread(b, scale, 0, shape));
    w = glow_lower_reshape(
        b, w, GLOW_DIMS_OF(shape.at[0], shape.at[1] * shape.at[2]));
    w = glow_lower_cut(b, w, 1, 0, q->k);
    return glow_lower_transpose(b, w, GLOW_DIMS_OF(1, 0));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_kind kind = n->in[0]->type->elem;
    glow_value *x, *w, *y;

    if (glow_lower_is_short(kind))
        kind = GLOW_FLOAT;
    x = glow_lower_convert(b, n->in[0], kind);
    w = weights(b, n, kind);
    if (n->in[4])
        y = GLOW_BUILD(b, fullyconnected,
                       GLOW_IN(x, w, glow_lower_convert(b, n->in[4], kind)),
                       .axis = 1);
    else
        y = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x, w));
    return glow_lower_convert(b, y, n->out[0]->type->elem);
}

const glow_pass glow_pass_lower_blockwisequantizedfullyconnected = {
    .name = "lower-blockwisequantizedfullyconnected",
    .summary = "express BlockwiseQuantizedFullyConnected by weights of floats",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .lowers = &glow_op_blockwisequantizedfullyconnected,
    .rewrite = lower,
};

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

#include "lower/blocks.h"
#include "lower/common.h"
#include "lower/index.h"

/* Weights [K, N] of the kind `kind`. */
static glow_value *
weights(glow_builder *b, const glow_node *n, glow_kind kind)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    glow_value *w = glow_lower_blocks(b, n->in + 1, q->bits, q->k, kind);

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

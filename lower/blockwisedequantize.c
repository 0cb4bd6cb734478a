/*
 * lower-blockwisedequantize: constants become floats, other weights are converted.
 *
 *     %y = BlockwiseDequantize(@w, @s, @z) {..} : float<..>   =>   @y, with its elements
 *
 *     %y = BlockwiseDequantize(%w, %s, %z) {Bits: 4, ..} : float<..>
 *         =>
 *     %q = Concat(BitwiseAnd(%w, 15), BitShift(%w, 4))      [N, blocks, BlockSize]
 *     %f = (ConvertTo(%q) - [ConvertTo(%z)]) * [%s]
 *     %y = Reshape(Slice(Reshape(%f)))
 *
 * With Bits 8, %q is %w.  The halves of a byte become neighbours by a Concat along a
 * last axis of 2.  [..] repeats a number along its block.
 *
 * fold-constants leaves the operator, so that a file keeps the bytes.  The rule makes
 * the floats, of any size, for a backend that has no kernel for it: code for the network
 * is that for constant floats, with all that constants allow.
 */

#include "glow/eval.h"
#include "glow/match.h"
#include "lower/blocks.h"
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
    low = glow_build_reshape(b, low, each);
    high = glow_build_reshape(b, high, each);
    return glow_build_reshape(
        b, GLOW_BUILD(b, concat, GLOW_IN(low, high), .dim = each.rank - 1),
        flat);
}

glow_value *
glow_lower_blocks(glow_builder *b, glow_value *const in[], int bits,
                  int64_t depth, glow_kind kind)
{
    glow_value *w = bits == 4 ? nibbles(b, in[0]) : in[0], *zero, *scale;
    glow_dims shape;

    if (glow_builder_failed(b))
        return NULL;
    shape = w->type->shape;
    w = glow_lower_convert(b, w, kind);
    if (in[2])
        zero =
            glow_lower_spread(b, glow_lower_convert(b, in[2], kind), 0, shape);
    else
        zero = glow_lower_splat(b, w->type, 1 << (bits - 1));
    w = glow_build_sub(b, w, zero);
    scale = glow_lower_convert(b, in[1], kind);
    w = glow_build_mul(b, w, glow_lower_spread(b, scale, 0, shape));
    w = glow_build_reshape(
        b, w, GLOW_DIMS_OF(shape.at[0], shape.at[1] * shape.at[2]));
    return glow_lower_cut(b, w, 1, 0, depth);
}

/* The elements of `v` if it is a constant in memory or a file. */
static const glow_tensor *
elements(const glow_value *v)
{
    return glow_is_constant(v) && v->storage->payload != GLOW_ELIDED
               ? glow_constant_tensor(v->storage)
               : NULL;
}

/* The result as a constant; NULL if an operand is none. */
static glow_value *
evaluate(glow_builder *b, const glow_node *n)
{
    glow_tensor in[3], *at[3] = {NULL}, *out;
    glow_value *y;

    for (int i = 0; i < n->n_in; i++) {
        const glow_tensor *t = n->in[i] ? elements(n->in[i]) : NULL;

        if (!n->in[i])
            continue;
        if (!t || t->type->strides.rank)
            return NULL;
        in[i] = (glow_tensor){.type = t->type, .data = t->data};
        at[i] = &in[i];
    }
    if (n->out[0]->type->strides.rank)
        return NULL;
    y = glow_build_constant(b, "weights", n->out[0]->type);
    if (!y)
        return NULL;
    out = &y->storage->tensor;
    return glow_eval_node(n, at, &out, glow_builder_scratch(b)) ? y : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_blockwisedequantize *q = n->attrs;
    glow_value *w = evaluate(b, n);

    if (w)
        return w;
    w = glow_lower_blocks(b, n->in, q->bits,
                          glow_dims_product(q->dims, 1, q->dims.rank),
                          GLOW_FLOAT);
    w = w ? glow_build_reshape(b, w, q->dims) : NULL;
    return w ? glow_lower_convert(b, w, n->out[0]->type->elem) : NULL;
}

const glow_pass glow_pass_lower_blockwisedequantize = {
    .name = "lower-blockwisedequantize",
    .summary = "express BlockwiseDequantize by floats",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_blockwisedequantize,
    .rewrite = lower,
};

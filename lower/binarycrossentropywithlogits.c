/*
 * lower-binarycrossentropywithlogits: write the formula out.
 *
 *     %y = BinaryCrossEntropyWithLogits(%x, %t, %w, %p) {Reduction: none}
 *         =>
 *     %s = Log(Exp(Neg(Abs(%x))) + 1) + Relu(Neg(%x))
 *     %y = ((1 - %t) * %x + (([%p] - 1) * %t + 1) * %s) * [%w]
 *                                                  [..]: Broadcast to %x
 *
 * %s is log(1 + exp(-x)) in a form that cannot overflow.
 */

#include "lower/loss.h"

/* A weight, repeated to the shape of x along its first axes. */
static glow_value *
spread(glow_builder *b, glow_value *w, const glow_value *x)
{
    glow_dims shape = x->type->shape;

    return glow_lower_spread(b, w, shape.rank - w->type->shape.rank, shape);
}

static glow_value *
softplus(glow_builder *b, glow_value *x)
{
    glow_value *y = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));

    y = glow_build_neg(b, y);
    y = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(y));
    y = glow_build_log(b, glow_lower_plus(b, y, 1));
    x = glow_build_neg(b, x);
    return glow_build_add(b, y, GLOW_BUILD_PLAIN(b, relu, GLOW_IN(x)));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_binarycrossentropywithlogits *l = n->attrs;
    glow_value *x = n->in[0], *t = n->in[1], *y = softplus(b, x);
    glow_value *no = glow_build_sub(b, glow_lower_splat(b, t->type, 1), t);

    if (n->in[3]) {
        glow_value *p = glow_lower_plus(b, spread(b, n->in[3], x), -1);

        y = glow_build_mul(b, glow_lower_plus(b, glow_build_mul(b, p, t), 1),
                           y);
    }
    y = glow_build_add(b, glow_build_mul(b, no, x), y);
    if (n->in[2])
        y = glow_build_mul(b, y, spread(b, n->in[2], x));
    return glow_lower_loss(b, y, NULL, l->reduction);
}

const glow_pass glow_pass_lower_binarycrossentropywithlogits = {
    .name = "lower-binarycrossentropywithlogits",
    .summary = "express BinaryCrossEntropyWithLogits by arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_binarycrossentropywithlogits,
    .rewrite = lower,
};

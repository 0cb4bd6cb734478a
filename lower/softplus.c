/*
 * lower-softplus: Relu, plus the difference near 0.
 *
 *     %y = Relu(%x) + log1p(Exp(-|%x|))
 *
 * The exponential is at most 1 and cannot overflow.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];
    glow_value *e = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));

    e = glow_build_neg(b, e);
    e = glow_lower_log1p(b, GLOW_BUILD_PLAIN(b, exp, GLOW_IN(e)));
    return glow_build_add(b, e, GLOW_BUILD_PLAIN(b, relu, GLOW_IN(x)));
}

const glow_pass glow_pass_lower_softplus = {
    .name = "lower-softplus",
    .summary = "express SoftPlus by Relu, Exp and Log",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_softplus,
    .rewrite = lower,
};

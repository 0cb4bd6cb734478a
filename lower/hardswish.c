/*
 * lower-hardswish: the operand times its hard sigmoid.
 *
 *     %y = HardSwish(%x)   =>   %y = max(%x, -4) * Clip(%x / 6 + 0.5) {Min: 0.0, Max: 1.0}
 *
 * The bound gives -0 for -inf.  Dividing keeps the corners at -3 and 3 exactly; 1/6 is no binary fraction.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];
    glow_value *six = glow_lower_splat(b, x->type, 6);
    glow_value *gate = glow_lower_plus(b, glow_build_div(b, x, six), 0.5);

    gate = GLOW_BUILD(b, clip, GLOW_IN(gate), .min = 0, .max = 1);
    return glow_build_mul(b, glow_lower_gated(b, x, -4), gate);
}

const glow_pass glow_pass_lower_hardswish = {
    .name = "lower-hardswish",
    .summary = "express HardSwish by Div, Add, Clip and Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_hardswish,
    .rewrite = lower,
    .source = "Howard et al., arXiv:1905.02244, section 5.2",
};

/*
 * lower-selu: scale Elu.
 *
 *     %y = Selu(%x) {Alpha: a, Gamma: c}   =>   %y = c * Elu(%x) {Alpha: a}
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_selu *s = n->attrs;
    glow_value *y = GLOW_BUILD(b, elu, GLOW_IN(n->in[0]), .alpha = s->alpha);

    return glow_lower_times(b, y, (double)s->gamma);
}

const glow_pass glow_pass_lower_selu = {
    .name = "lower-selu",
    .summary = "express Selu by Elu and Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_selu,
    .rewrite = lower,
};

/*
 * lower-hardsigmoid: a straight line between two bounds.
 *
 *     %y = HardSigmoid(%x) {Alpha: a, Beta: b}
 *         =>
 *     %y = Clip(%x * a + b) {Min: 0.0, Max: 1.0}
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_hardsigmoid *h = n->attrs;
    glow_value *x = glow_lower_times(b, n->in[0], (double)h->alpha);

    x = glow_lower_plus(b, x, (double)h->beta);
    return GLOW_BUILD(b, clip, GLOW_IN(x), .min = 0, .max = 1);
}

const glow_pass glow_pass_lower_hardsigmoid = {
    .name = "lower-hardsigmoid",
    .summary = "express HardSigmoid by Mul, Add and Clip",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_hardsigmoid,
    .rewrite = lower,
};

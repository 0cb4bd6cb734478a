/*
 * lower-softsign: write the fraction out.
 *
 *     %y = Softsign(%x)   =>   %z = Clip(%x) {Min: -M, Max: M}
 *                              %y = %z / (|%z| + 1)
 *
 * M is a finite number of the kind to which adding 1 changes nothing, so that
 * infinity gives 1.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    float most = n->in[0]->type->elem == GLOW_FLOAT16 ? 65504 : 0x1p100f;
    glow_value *x =
        GLOW_BUILD(b, clip, GLOW_IN(n->in[0]), .min = -most, .max = most);
    glow_value *d = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));

    return glow_build_div(b, x, glow_lower_plus(b, d, 1));
}

const glow_pass glow_pass_lower_softsign = {
    .name = "lower-softsign",
    .summary = "express Softsign by Abs and Div",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_softsign,
    .rewrite = lower,
};

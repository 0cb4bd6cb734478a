/*
 * lower-atanh: half a logarithm.
 *
 *     log1p(2 a / (1 - a)) / 2,  a = |x|
 *
 * with the sign of x.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];
    glow_value *a = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));
    glow_value *y = glow_lower_from(b, 1, a);

    y = glow_lower_log1p(b, glow_build_div(b, glow_build_add(b, a, a), y));
    return glow_lower_signed(b, x, glow_lower_times(b, y, 0.5));
}

const glow_pass glow_pass_lower_atanh = {
    .name = "lower-atanh",
    .summary = "express Atanh by Log",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_atanh,
    .rewrite = lower,
};

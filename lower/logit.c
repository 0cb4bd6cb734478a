/*
 * lower-logit: a logarithm, by two formulas.
 *
 *     z = Clip(x) {Min: e, Max: 1 - e},  d = 2 z - 1
 *     |d| < 0.5:   log1p(d / (1 - z))
 *     else:        log(z / (1 - z))
 *
 * The first does not cancel near its zero, 0.5, nor the second near 0.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_logit *a = n->attrs;
    glow_value *x = n->in[0], *z, *rest, *d, *near, *far;

    z = glow_lower_splat(b, x->type, (double)a->epsilon);
    z = GLOW_BUILD_PLAIN(b, max, GLOW_IN(x, z));
    rest = glow_lower_splat(b, x->type, 1 - (double)a->epsilon);
    z = GLOW_BUILD_PLAIN(b, min, GLOW_IN(z, rest));
    rest = glow_lower_from(b, 1, z);
    d = glow_lower_plus(b, glow_build_add(b, z, z), -1);
    near = glow_lower_log1p(b, glow_build_div(b, d, rest));
    far = glow_build_log(b, glow_build_div(b, z, rest));
    d = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(d));
    return glow_build_select(b, glow_lower_below(b, d, 0.5), near, far);
}

const glow_pass glow_pass_lower_logit = {
    .name = "lower-logit",
    .summary = "express Logit by Log",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_logit,
    .rewrite = lower,
};

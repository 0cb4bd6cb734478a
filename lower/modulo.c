/*
 * lower-modulo: divide by a constant.
 *
 *     %y = Modulo(%x) {Divisor: d}   =>   %y = Fmod(%x, d), or Mod
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_modulo *m = n->attrs;
    glow_value *d = glow_lower_splat_int(b, n->in[0]->type, m->divisor);

    return m->sign_follow_divisor
               ? GLOW_BUILD_PLAIN(b, mod, GLOW_IN(n->in[0], d))
               : GLOW_BUILD_PLAIN(b, fmod, GLOW_IN(n->in[0], d));
}

const glow_pass glow_pass_lower_modulo = {
    .name = "lower-modulo",
    .summary = "express Modulo by Fmod or Mod",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_modulo,
    .rewrite = lower,
};

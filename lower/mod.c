/*
 * lower-mod: give the remainder of Fmod the sign of the divisor.
 *
 *     %r = Fmod(%x, %y)
 *     %z = Select(%r != 0 and (%r < 0) != (%y < 0), %r + %y, %r)
 *
 * For unsigned integers, Fmod is Mod.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *y = n->in[1];
    glow_value *r = GLOW_BUILD_PLAIN(b, fmod, GLOW_IN(n->in[0], y)), *strays;

    if (!r || !glow_kind_get(r->type->elem)->is_signed)
        return r;
    strays = glow_lower_strays(b, r, y);
    return glow_build_select(b, strays, glow_build_add(b, r, y), r);
}

const glow_pass glow_pass_lower_mod = {
    .name = "lower-mod",
    .summary = "express Mod by Fmod and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_mod,
    .rewrite = lower,
};

/*
 * lower-replacenan: select the value in place of NaN.
 *
 *     %y = ReplaceNaN(%x) {Value: v}   =>   %y = Select(IsNaN(%x), v, %x)
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_replacenan *r = n->attrs;
    glow_value *x = n->in[0];
    glow_value *none = GLOW_BUILD_PLAIN(b, isnan, GLOW_IN(x));

    return glow_build_select(b, none,
                             glow_lower_splat(b, x->type, (double)r->value), x);
}

const glow_pass glow_pass_lower_replacenan = {
    .name = "lower-replacenan",
    .summary = "express ReplaceNaN by IsNaN and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_replacenan,
    .rewrite = lower,
};

/*
 * lower-dropout: draw the numbers, and select.
 *
 *     %y = Dropout(%x, %step) {Ratio: r, Seed: s}
 *         =>
 *     %u = PhiloxUniform(%step) {Seed: s}
 *     %y = Select(r <= %u, %x * (1 / (1 - r)), 0)
 *
 * The gradient selects by the same condition, which is drawn again where memory is
 * short: the counter gives the same numbers.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_dropout *a = n->attrs;
    glow_value *x = n->in[0], *u, *keep;
    glow_type type = *x->type;

    type.elem = GLOW_FLOAT;
    type.strides.rank = 0;
    u = GLOW_BUILD_STATED(b, philoxuniform,
                          glow_type_get(glow_builder_context(b), type),
                          GLOW_IN(n->in[1]), .seed = a->seed);
    if (!u)
        return NULL;
    keep = GLOW_BUILD_PLAIN(
        b, cmplte, GLOW_IN(glow_lower_splat(b, u->type, (double)a->ratio), u));
    x = glow_build_mul(
        b, x, glow_lower_splat(b, x->type, 1 / (1 - (double)a->ratio)));
    return glow_build_select(b, keep, x,
                             glow_lower_splat(b, n->in[0]->type, 0));
}

const glow_pass glow_pass_lower_dropout = {
    .name = "lower-dropout",
    .summary = "express Dropout by PhiloxUniform and Select",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_dropout,
    .rewrite = lower,
};

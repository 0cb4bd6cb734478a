/*
 * lower-lstmunit: cut the gates out, and write the formula.
 *
 *     %i, %f, %g, %o = columns of Input
 *     NewC = Sigmoid(%f) * C + Sigmoid(%i) * Tanh(%g)
 *     NewH = Sigmoid(%o) * Tanh(NewC)
 */

#include "lower/common.h"

static glow_value *
gate(glow_builder *b, const glow_node *n, int i, const glow_op *f)
{
    int64_t size = n->in[1]->type->shape.at[1];
    glow_value *v = glow_lower_cut(b, n->in[0], 1, i * size, size);

    return glow_build(b, f, NULL, GLOW_IN(v), NULL);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *in = gate(b, n, 0, &glow_op_sigmoid);
    glow_value *forget = gate(b, n, 1, &glow_op_sigmoid);
    glow_value *v = gate(b, n, 2, &glow_op_tanh);
    glow_value *out = gate(b, n, 3, &glow_op_sigmoid);
    glow_value *kept = glow_build_mul(b, forget, n->in[1]);
    glow_value *c = glow_build_add(b, kept, glow_build_mul(b, in, v));
    glow_value *h =
        glow_build_mul(b, out, GLOW_BUILD_PLAIN(b, tanh, GLOW_IN(c)));

    glow_builder_replace(b, n, 0, h);
    glow_builder_replace(b, n, 1, c);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_lstmunit = {
    .name = "lower-lstmunit",
    .summary = "express LSTMUnit by Sigmoid, Tanh, Mul and Add",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_lstmunit,
    .rewrite = lower,
};

/*
 * lower-lstm: one product for X, and, where the backend has no kernel for the
 * recurrence, its steps unrolled.
 *
 *     %u = %x.t + MatMul(%h before, Transpose(R))
 *     %i = s(%u.i + Pi * %c before);  %f = s(%u.f + Pf * %c before)
 *     %c.t = %f * %c before + %i * g(%u.v)
 *     %h.t = s(%u.o + Po * %c.t) * k(%c.t)
 *
 * Without P nothing is added; with InputForget %f is 1 - %i.
 */

#include "lower/recurrent.h"

enum { IN, OUT, FORGET, CELL };

/* A gate with its peephole: on the cells `c`. */
static glow_value *
gate(const recurrent *r, glow_value *u, int i, glow_value *c)
{
    glow_value *x = glow_lower_recurrent_gate(r, u, i);

    if (r->p[i])
        x = glow_build_add(r->b, x, glow_build_mul(r->b, r->p[i], c));
    return glow_lower_recurrent_apply_gate(r, 0, x);
}

static recurrent_state
step(const recurrent *r, glow_value *x, recurrent_state s)
{
    glow_builder *b = r->b;
    glow_value *u =
        glow_build_add(b, x, glow_lower_recurrent_product(r, s.h, 0, 4));
    glow_value *in = gate(r, u, IN, s.c), *forget, *out, *c, *v;

    if (r->attrs->input_forget)
        forget = glow_lower_plus(b, glow_build_neg(b, in), 1);
    else
        forget = gate(r, u, FORGET, s.c);
    v = glow_lower_recurrent_apply_gate(r, 1,
                                        glow_lower_recurrent_gate(r, u, CELL));
    c = glow_build_mul(b, forget, s.c);
    c = glow_build_add(b, c, glow_build_mul(b, in, v));
    out = gate(r, u, OUT, c);
    return (recurrent_state){
        glow_build_mul(b, out, glow_lower_recurrent_apply(r, 2, c)), c};
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_recurrent(b, n, 3, false, step);
}

const glow_pass glow_pass_lower_lstm = {
    .name = "lower-lstm",
    .summary = "express LSTM by a product for X, then by gates, step by step",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_lstm,
    .rewrite = lower,
};

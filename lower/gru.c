/*
 * lower-gru: one product for X, and, where the backend has no kernel for the
 * recurrence, its steps unrolled.
 *
 *     %z, %r = f(%x.zr + MatMul(%h before, Transpose(R.zr)))
 *     %v = g(%x.v + MatMul(%r * %h before, Transpose(R.v)))
 *     %h.t = (1 - %z) * %v + %z * %h before
 *
 * With LinearBeforeReset the reset comes after the product, which then is one
 * for all three gates: %v = g(%x.v + %r * MatMul(%h before, Transpose(R.v))).
 */

#include "lower/recurrent.h"

static recurrent_state
step(const recurrent *r, glow_value *x, recurrent_state s)
{
    bool before = r->attrs->linear_before_reset;
    glow_builder *b = r->b;
    glow_value *u = glow_lower_recurrent_product(r, s.h, 0, before ? 3 : 2),
               *gate[2], *v;

    for (int i = 0; i < 2; i++) {
        v = glow_lower_recurrent_gate(r, x, i);
        v = glow_build_add(b, v, glow_lower_recurrent_gate(r, u, i));
        gate[i] = glow_lower_recurrent_apply_gate(r, 0, v);
    }
    if (before)
        v = glow_build_mul(b, gate[1], glow_lower_recurrent_gate(r, u, 2));
    else
        v = glow_lower_recurrent_product(r, glow_build_mul(b, gate[1], s.h), 2,
                                         1);
    v = glow_build_add(b, glow_lower_recurrent_gate(r, x, 2), v);
    v = glow_lower_recurrent_apply_gate(r, 1, v);
    u = glow_lower_plus(b, glow_build_neg(b, gate[0]), 1);
    u = glow_build_mul(b, u, v);
    v = glow_build_mul(b, gate[0], s.h);
    return (recurrent_state){glow_build_add(b, u, v), NULL};
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_gru *a = n->attrs;

    return glow_lower_recurrent(b, n, 2, a->linear_before_reset, step);
}

const glow_pass glow_pass_lower_gru = {
    .name = "lower-gru",
    .summary = "express GRU by a product for X, then by gates, step by step",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_gru,
    .rewrite = lower,
};

/*
 * lower-rnn: one product for X, and, where the backend has no kernel for the
 * recurrence, its steps unrolled.
 *
 *     %h.t = f(%x.t + MatMul(%h before, Transpose(R)))
 */

#include "lower/recurrent.h"

static recurrent_state
step(const recurrent *r, glow_value *x, recurrent_state s)
{
    glow_value *u =
        glow_build_add(r->b, x, glow_lower_recurrent_product(r, s.h, 0, 1));

    return (recurrent_state){glow_lower_recurrent_apply_gate(r, 0, u), NULL};
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_recurrent(b, n, 1, false, step);
}

const glow_pass glow_pass_lower_rnn = {
    .name = "lower-rnn",
    .summary =
        "express RNN by a product for X, then by activations, step by step",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_rnn,
    .rewrite = lower,
};

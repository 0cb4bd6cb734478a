/*
 * Cells of recurrent networks: gates and next state from the products with R,
 * for a vector of hidden units in registers.  The formulas are in
 * ir/ops/recurrent.c.
 */

#include "codegen/cpu/kernels/recurrent/recurrent.h"

/*
 * Pre-activation of gate `i`: its input from X, its `product` with R, and the
 * bias of R.
 */
static cg_value
sum_of(cpu_recurrence *r, int i, cg_value product)
{
    cg *g = r->j->g;
    cg_value bias = glow_cpu_gate_bias(r, i);
    cg_value x = cg_fadd(g, glow_cpu_gate_input(r, i), product);

    return bias ? cg_fadd(g, x, bias) : x;
}

static cg_value
one_minus(cg *g, cg_value x)
{
    return cg_fsub(g, glow_cg_real(LLVMTypeOf(x), 1), x);
}

static void
finish_rnn(cpu_recurrence *r, cg_value const *product)
{
    cg_value h = glow_cpu_activate_gate(r, 0, sum_of(r, 0, product[0]));

    glow_cpu_end_cell(r, h, NULL);
}

/* h' = (1 - z) * v + z * h */
static void
finish_gru(cpu_recurrence *r, cg_value z, cg_value v)
{
    cg *g = r->j->g;
    cg_value h = cg_fmul(g, one_minus(g, z), v);

    h = glow_cg_fma(g, z, glow_cpu_state(r, CPU_H), h);
    glow_cpu_end_cell(r, h, NULL);
}

/*
 * linear_before_reset: all products are with the state H, before the reset
 * gate.
 */
static void
finish_gru_linear(cpu_recurrence *r, cg_value const *product)
{
    cg *g = r->j->g;
    cg_value z = glow_cpu_activate_gate(r, 0, sum_of(r, 0, product[0]));
    cg_value reset = glow_cpu_activate_gate(r, 0, sum_of(r, 1, product[1]));
    cg_value bias = glow_cpu_gate_bias(r, 2), v = product[2];

    if (bias)
        v = cg_fadd(g, v, bias);
    v = glow_cg_fma(g, reset, v, glow_cpu_gate_input(r, 2));
    finish_gru(r, z, glow_cpu_activate_gate(r, 1, v));
}

/*
 * The other form, phase 0: the update and reset gates.  Phase 1 multiplies R by
 * the state times the reset gate.
 */
static void
finish_gru_gates(cpu_recurrence *r, cg_value const *product)
{
    cg *g = r->j->g;
    cg_value z = glow_cpu_activate_gate(r, 0, sum_of(r, 0, product[0]));
    cg_value reset = glow_cpu_activate_gate(r, 0, sum_of(r, 1, product[1]));

    glow_cpu_set_state(r, CPU_C, z);
    glow_cpu_set_state(r, CPU_RESET,
                       cg_fmul(g, reset, glow_cpu_state(r, CPU_H)));
}

static void
finish_gru_state(cpu_recurrence *r, cg_value const *product)
{
    cg_value v = glow_cpu_activate_gate(r, 1, sum_of(r, 2, product[0]));

    finish_gru(r, glow_cpu_state(r, CPU_C), v);
}

enum { IN, OUT, FORGET, CELL };

/* A gate with its peephole: on the cells `c`. */
static cg_value
lstm_gate(cpu_recurrence *r, int i, cg_value const *product, cg_value c)
{
    cg_value x = sum_of(r, i, product[i]), p = glow_cpu_peephole(r, i);

    if (p)
        x = glow_cg_fma(r->j->g, p, c, x);
    return glow_cpu_activate_gate(r, 0, x);
}

static void
finish_lstm(cpu_recurrence *r, cg_value const *product)
{
    cg *g = r->j->g;
    cg_value c = glow_cpu_state(r, CPU_C), out;
    cg_value in = lstm_gate(r, IN, product, c);
    cg_value forget = r->attrs->input_forget ? one_minus(g, in)
                                             : lstm_gate(r, FORGET, product, c);
    cg_value v = glow_cpu_activate_gate(r, 1, sum_of(r, CELL, product[CELL]));

    c = glow_cg_fma(g, in, v, cg_fmul(g, forget, c));
    out = lstm_gate(r, OUT, product, c);
    glow_cpu_end_cell(r, cg_fmul(g, out, glow_cpu_activate(r, 2, c)), c);
}

static const cpu_cell rnn = {
    &glow_op_rnn, 1, 1, CPU_C, {{0, 1, CPU_H, finish_rnn}}, 1};
static const cpu_cell gru = {
    &glow_op_gru,
    3,
    2,
    CPU_STATES,
    {{0, 2, CPU_H, finish_gru_gates}, {2, 1, CPU_RESET, finish_gru_state}},
    2};
static const cpu_cell gru_linear = {
    &glow_op_gru, 3, 2, CPU_C, {{0, 3, CPU_H, finish_gru_linear}}, 1};
static const cpu_cell lstm = {
    &glow_op_lstm, 4, 3, CPU_RESET, {{0, 4, CPU_H, finish_lstm}}, 1};

const cpu_cell *
glow_cpu_cell(const glow_node *n)
{
    const glow_recurrent *a = n->attrs;

    if (n->op == &glow_op_gru)
        return a->linear_before_reset ? &gru_linear : &gru;
    return n->op == &glow_op_lstm ? &lstm : &rnn;
}

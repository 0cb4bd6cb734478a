/*
 * Recurrent networks.
 */

#include <string.h>

#include "tools/glow-translate/export/export.h"

#define MOST (2 * GLOW_MOST_ACTIVATIONS)

static const char *const directions[] = {"forward", "reverse", "bidirectional"};

/* Collects the functions of all directions; returns their number. */
static int
functions(const glow_recurrent *a, int each, glow_activation *out)
{
    int count = a->direction == GLOW_BIDIRECTIONAL ? 2 : 1;

    for (int d = 0; d < count; d++)
        glow_recurrent_activations(a, each, d, out + d * each);
    return count * each;
}

/* ONNX lists parameters only for functions that have them. */
static void
activations(exporter *e, const glow_recurrent *a, int each)
{
    glow_activation f[MOST];
    const char *names[MOST];
    float alpha[MOST], beta[MOST];
    int count = functions(a, each, f), alphas = 0, betas = 0;

    for (int i = 0; i < count; i++) {
        names[i] = f[i].name;
        if (f[i].has_alpha)
            alpha[alphas++] = f[i].alpha;
        if (f[i].has_beta)
            beta[betas++] = f[i].beta;
    }
    export_strings(e, "activations", names, count);
    if (alphas)
        export_float_list(e, "activation_alpha", alpha, alphas);
    if (betas)
        export_float_list(e, "activation_beta", beta, betas);
}

/* An identity matrix as W, which ONNX requires. */
static const char *
identity(exporter *e, const glow_node *n)
{
    const glow_type *r = n->in[2]->type;
    int64_t rows = r->shape.at[1], d = r->shape.at[0];
    const glow_type *type =
        glow_type_get(export_context(e),
                      glow_type_of(r->elem, GLOW_DIMS_OF(d, rows, d * rows)));
    glow_tensor t = {
        type, glow_arena_alloc(export_arena(e), (size_t)glow_type_bytes(type)),
        NULL};

    for (int64_t i = 0; i < d * rows; i++)
        glow_set_double(&t, i * d * rows + i, 1);
    return export_constant(e, n, type, t.data);
}

static bool
recurrent(exporter *e, const glow_node *n, int each)
{
    const glow_recurrent *a = n->attrs;
    const char *in[GLOW_MAX_OPERANDS];

    for (int i = 0; i < n->n_in; i++)
        in[i] = export_in(e, n, i);
    if (!n->in[1])
        in[1] = identity(e, n);
    if (n->in[4] && n->in[4]->type->elem != GLOW_INDEX32) {
        in[4] = export_step(e, n, "Cast", NAMES(in[4]));
        export_int(e, "to", 6); /* int32 */
    }
    export_last(e, n, export_this(e)->name, in, n->n_in);
    export_int(e, "hidden_size", n->in[2]->type->shape.at[2]);
    export_string(e, "direction", directions[a->direction]);
    activations(e, a, each);
    if (a->clip > 0)
        export_float(e, "clip", a->clip);
    return true;
}

static bool
rnn(exporter *e, const glow_node *n)
{
    return recurrent(e, n, 1);
}

static bool
gru(exporter *e, const glow_node *n)
{
    const glow_gru *a = n->attrs;

    recurrent(e, n, 2);
    export_int(e, "linear_before_reset", a->linear_before_reset);
    return true;
}

static bool
lstm(exporter *e, const glow_node *n)
{
    const glow_lstm *a = n->attrs;

    recurrent(e, n, 3);
    export_int(e, "input_forget", a->input_forget);
    return true;
}

const export_row export_recurrent_rows[] = {
    {&glow_op_gru, gru, "GRU"},
    {&glow_op_lstm, lstm, "LSTM"},
    {&glow_op_rnn, rnn, "RNN"},
    {NULL, NULL, NULL},
};

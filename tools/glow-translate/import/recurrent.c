/*
 * Recurrent networks.  With layout 1 the batch comes first in ONNX; in Glow the
 * steps always do, so the node is wrapped in transposes.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/import.h"

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };

static const char *const directions[] = {"forward", "reverse", "bidirectional",
                                         NULL};

/*
 * Reads the functions and their parameters: ONNX lists parameters only for
 * functions that have one, in order, and omits the last ones.
 */
static void
read_activations(import_node *n, glow_recurrent *a, int each)
{
    int most = 2 * GLOW_MOST_ACTIVATIONS, count, alphas = 0, betas = 0;
    const char *const *names = import_strings(n, "activations", &count);
    glow_floats alpha = import_floats(n, "activation_alpha");
    glow_floats beta = import_floats(n, "activation_beta");
    float *at = GLOW_NEW_ARRAY(import_arena(n), float, 2 * most);
    glow_buf text = {.arena = import_arena(n)};

    /* RNN has two by default, for any direction. */
    if (a->direction != GLOW_BIDIRECTIONAL && count == 2 * each)
        count = each;
    if (count == 0) {
        if (alpha.count || beta.count)
            import_refuse(n, "E0710",
                          "activation_alpha and activation_beta are given "
                          "without activations");
        return;
    }
    if (count > most) {
        import_refuse(n, "E0710", "activations has %d entries", count);
        return;
    }
    for (int i = 0; i < count; i++) {
        const glow_activation *f =
            glow_find_activation(names[i], strlen(names[i]));

        if (!f) {
            import_refuse(n, "E0705", "activation '%s' is not known", names[i]);
            return;
        }
        glow_buf_printf(&text, "%s%s", i ? " " : "", names[i]);
        at[i] = f->has_alpha && alphas < alpha.count ? alpha.at[alphas++]
                                                     : f->alpha;
        at[most + i] =
            f->has_beta && betas < beta.count ? beta.at[betas++] : f->beta;
    }
    a->activations = text.text;
    if (alpha.count)
        a->activation_alpha = (glow_floats){count, at};
    if (beta.count)
        a->activation_beta = (glow_floats){count, at + most};
}

static void
check_hidden(import_node *n)
{
    int64_t size = import_int(n, "hidden_size", 0, 0, INT64_MAX);
    glow_dims r = import_shape(import_in(n, R));

    if (import_has(n, "hidden_size") && r.rank == 3 && r.at[2] != size)
        import_refuse(n, "E0711",
                      "hidden_size is %" PRId64 ", but R has %" PRId64
                      " columns",
                      size, r.at[2]);
}

/* Swaps the first two axes of `v`, if it is present and `swap`. */
static glow_value *
swapped(import_node *n, glow_value *v, bool swap)
{
    if (!v || !swap || v->type->shape.rank != 3)
        return v;
    return import_transpose(n, v, GLOW_DIMS_OF(1, 0, 2));
}

static bool
build(import_node *n, glow_recurrent *a, int operands, int activations)
{
    bool batch_first = n->opset >= 14 && import_int(n, "layout", 0, 0, 1) == 1;
    glow_value *in[8] = {NULL}, *y;
    bool whole = false;

    if (n->opset < 7)
        import_ignore(n, "output_sequence");
    a->direction = import_word(n, "direction", "forward", directions);
    a->clip = import_float(n, "clip", 0);
    read_activations(n, a, activations);
    check_hidden(n);
    if (!import_operands(n, 3, operands))
        return false;
    for (int i = 0; i < operands; i++)
        in[i] = import_in(n, i);
    in[X] = swapped(n, in[X], batch_first);
    in[INITIAL_H] = swapped(n, in[INITIAL_H], batch_first);
    in[INITIAL_C] = swapped(n, in[INITIAL_C], batch_first);
    if (!n->failed && in[LENGTHS] &&
        !import_check_lengths(n, LENGTHS, import_shape(in[X]).at[0], &whole))
        return false;
    if (whole)
        in[LENGTHS] = NULL; /* redundant */
    y = import_build(n, n->row->op, NULL, in, operands, a);
    for (int i = 0; y && i < n->n_out && i < glow_op_results(n->row->op); i++)
        n->out[i] = swapped(n, y->def->out[i], batch_first);
    if (batch_first && n->n_out > 0)
        n->out[0] = import_transpose(n, y, GLOW_DIMS_OF(2, 0, 1, 3));
    return y && !n->failed;
}

static bool
rnn(import_node *n)
{
    glow_rnn a = {.activations = "Tanh"};

    return build(n, &a, 6, 1);
}

static bool
gru(import_node *n)
{
    glow_gru a = {.activations = "Sigmoid Tanh"};

    if (n->opset >= 3)
        a.linear_before_reset = import_flag(n, "linear_before_reset", false);
    return build(n, &a, 6, 2);
}

static bool
lstm(import_node *n)
{
    glow_lstm a = {.activations = "Sigmoid Tanh Tanh"};

    a.input_forget = import_flag(n, "input_forget", false);
    return build(n, &a, 8, 3);
}

const import_row import_recurrent_rows[] = {
    {"GRU", 1, 0, gru, &glow_op_gru,
     "floats; activations are those of ONNX; layout 1 goes through transposes"},
    {"LSTM", 1, 0, lstm, &glow_op_lstm,
     "floats; activations are those of ONNX; layout 1 goes through transposes"},
    {"RNN", 1, 0, rnn, &glow_op_rnn,
     "floats; activations are those of ONNX; layout 1 goes through transposes"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

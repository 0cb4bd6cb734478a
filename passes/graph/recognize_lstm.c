/*
 * recognize-lstm: recognize a step of an LSTM in arithmetic.
 *
 *     %i, %f, %g, %o = Slices of %x, a quarter of its columns each, in this order
 *     %c = Sigmoid(%f) * %before + Sigmoid(%i) * Tanh(%g)
 *     %h = Sigmoid(%o) * Tanh(%c)
 *         =>
 *     %h, %c = LSTMUnit(%x, %before)
 *
 * with the operands of sums and products in any order.  Thirteen nodes and
 * passes over memory become one; LSTMUnit rounds only its results.
 *
 * Cells and slices may have other users, intermediate results may not, so that
 * nothing is computed twice.  Gates in another order than i, f, g and o are not
 * matched, because the columns of weights and bias would have to be permuted.
 * Neither are steps with a number added to the forget gate.
 *
 * PyTorch and Keras export unrolled cells like this.  Glow has the node for
 * models that contain it, and recognizes none.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

enum { IN, FORGET, NEW, OUT, GATES }; /* in the order of the columns */

typedef struct cell {
    glow_value *gates;  /* all four, concatenated */
    glow_value *before; /* cells before the step */
    glow_node *sum;     /* cells after the step */
    glow_node *tanh;    /* of `sum` */
} cell;

/*
 * True if `v`, with one use, is `activation` of gate `which` of c->gates, which
 * the first call sets.
 */
static bool
find_gate(cell *c, const glow_value *v, const glow_op *activation, int which)
{
    const glow_node *a = glow_only_def(v, activation);
    const glow_node *cut = a ? glow_def(a->in[0], &glow_op_slice) : NULL;

    if (!cut)
        return false;

    const glow_slice *s = cut->attrs;
    glow_dims part = cut->out[0]->type->shape, all = cut->in[0]->type->shape;

    if (part.rank != 2 || all.at[0] != part.at[0] ||
        all.at[1] / GATES != part.at[1] || all.at[1] % GATES != 0 ||
        s->start.at[1] != which * part.at[1])
        return false;
    for (int i = 0; i < s->steps.rank; i++)
        if (s->steps.at[i] != 1)
            return false;
    if (!c->gates)
        c->gates = cut->in[0];
    return c->gates == cut->in[0];
}

/* Matches `v` as Sigmoid(f) * before. */
static bool
find_kept(cell *c, const glow_value *v)
{
    const glow_node *n = glow_only_def(v, &glow_op_mul);

    for (int i = 0; n && i < 2; i++)
        if (find_gate(c, n->in[i], &glow_op_sigmoid, FORGET)) {
            c->before = n->in[1 - i];
            return true;
        }
    return false;
}

/* Matches `v` as Sigmoid(i) * Tanh(g). */
static bool
find_new(cell *c, const glow_value *v)
{
    const glow_node *n = glow_only_def(v, &glow_op_mul);

    for (int i = 0; n && i < 2; i++)
        if (find_gate(c, n->in[i], &glow_op_sigmoid, IN))
            return find_gate(c, n->in[1 - i], &glow_op_tanh, NEW);
    return false;
}

/* Matches `v` as Tanh of the sum of both. */
static bool
find_cells(cell *c, const glow_value *v)
{
    c->tanh = glow_only_def(v, &glow_op_tanh);
    c->sum = c->tanh ? glow_def(c->tanh->in[0], &glow_op_add) : NULL;
    for (int i = 0; c->sum && i < 2; i++)
        if (find_kept(c, c->sum->in[i]))
            return find_new(c, c->sum->in[1 - i]);
    return false;
}

static glow_value *
recognize(glow_builder *b, glow_node *n)
{
    for (int i = 0; i < 2 && !n->pred; i++) {
        cell c = {0};

        if (!find_gate(&c, n->in[i], &glow_op_sigmoid, OUT) ||
            !find_cells(&c, n->in[1 - i]))
            continue;
        /* in a schedule, users of the cells may come before n */
        glow_builder_at(b, c.sum);
        glow_builder_fuses(b, n);

        glow_value *h =
            GLOW_BUILD_PLAIN(b, lstmunit, GLOW_IN(c.gates, c.before));

        if (!h)
            return NULL;
        glow_builder_replace(b, c.sum, 0, h->def->out[1]);
        /* so that tanh dies with n, and the sum with it */
        glow_set_operand(c.tanh, 0, c.sum->out[0]);
        return h;
    }
    return NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_mul, recognize);
}

const glow_pass glow_pass_recognize_lstm = {
    .name = "recognize-lstm",
    .summary = "recognize steps of an LSTM in arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Hochreiter, Schmidhuber, Long Short-Term Memory, 1997",
};

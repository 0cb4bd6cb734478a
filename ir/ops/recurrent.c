/*
 * Recurrent networks over whole sequences: RNN, GRU, LSTM.
 *
 * The three share all but the cell: the function from the state before a step,
 * and the input's contribution to the gates, to the state after it.
 */

#include <math.h>

#include "ir/ops/recurrent.h"

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };

static int
directions_of(const glow_recurrent *a)
{
    return a->direction == GLOW_BIDIRECTIONAL ? 2 : 1;
}

/* infer */

/* Checks the attributes. */
static bool
check_attributes(const glow_node *n, int activations)
{
    const glow_recurrent *a = n->attrs;

    if (!(a->clip >= 0))
        return glow_reject(n, "Clip is %g, but must be 0 or more",
                           (double)a->clip);
    return glow_check_activations(n, activations, directions_of(a));
}

/*
 * Checks that operand `i`, if present, has X's element kind and shape `shape`.
 */
static bool
check_part(const glow_node *n, int i, glow_dims shape, const char *why)
{
    return i >= n->n_in || !n->in[i] ||
           (glow_check_kinds(n, i, X) && glow_check_shape(n, i, shape, why));
}

static bool
check_lengths(const glow_node *n, int64_t batch)
{
    glow_kind kind;

    if (!n->in[LENGTHS])
        return true;
    kind = n->in[LENGTHS]->type->elem;
    if (kind != GLOW_INDEX32 && kind != GLOW_INDEX64)
        return glow_reject(n,
                           "the elements of SequenceLens are %s, but must be "
                           "index32 or index64",
                           glow_kind_get(kind)->name);
    return glow_check_shape(n, LENGTHS, GLOW_DIMS_OF(batch),
                            "that of the batch of X");
}

static bool
recurrent_infer(const glow_node *n, glow_type out[], int gates, int activations)
{
    const glow_type *x = n->in[X]->type;
    int64_t d = directions_of(n->attrs), rows;

    if (!glow_admit(n, X, GLOW_ANY_FLOAT) || !glow_check_rank(n, X, 3) ||
        !glow_check_kinds(n, R, X) || !glow_check_rank(n, R, 3) ||
        !check_attributes(n, activations))
        return false;

    int64_t steps = x->shape.at[0], batch = x->shape.at[1];
    int64_t hidden = n->in[R]->type->shape.at[2], columns = x->shape.at[2];
    glow_dims state = GLOW_DIMS_OF(d, batch, hidden);

    if (steps == 0)
        return glow_reject(n, "X has 0 steps, but at least 1 is needed");
    if (glow_mul_overflow(hidden, 2 * gates, &rows))
        return glow_reject(n, "%d gates of %" PRId64 " are too many", gates,
                           hidden);
    rows /= 2;
    if (!check_part(n, R, GLOW_DIMS_OF(d, rows, hidden),
                    "what its columns and Direction ask for") ||
        !check_part(n, W, GLOW_DIMS_OF(d, rows, columns),
                    "what X, R and Direction ask for") ||
        (!n->in[W] && columns != d * rows &&
         !glow_check_shape(n, X, GLOW_DIMS_OF(steps, batch, d * rows),
                           "without W that of the gates")) ||
        !check_part(n, BIAS, GLOW_DIMS_OF(d, 2 * rows),
                    "two for each row of R") ||
        !check_lengths(n, batch) ||
        !check_part(n, INITIAL_H, state, "that of the state") ||
        !check_part(n, INITIAL_C, state, "that of the state") ||
        !check_part(n, PEEPHOLES, GLOW_DIMS_OF(d, 3 * hidden),
                    "three for each column of R"))
        return false;
    for (int i = 1; i < glow_op_results(n->op); i++)
        if (!glow_give(n, glow_reshaped(x, state), &out[i]))
            return false;
    return glow_give(n, glow_reshaped(x, GLOW_DIMS_OF(steps, d, batch, hidden)),
                     &out[0]);
}

/* eval */

typedef struct layer layer;
struct layer { /* one direction */
    const glow_recurrent *attrs;
    int gates;
    int64_t input, hidden;
    const double *w, *r;   /* gates x hidden rows; w may be NULL */
    const double *wb, *rb; /* one for each row, or NULL */
    const double *p;       /* 3 x hidden, or NULL */
    glow_activation f[GLOW_MOST_ACTIVATIONS];
    double *from_x, *from_h; /* one for each row: scratch */
    double *reset;           /* GRU: h after the reset gate */
    /* Advances the state of one element of the batch by one step. */
    void (*step)(const layer *l, double *h, double *c);
};

/* y[i] = bias[i] + sum over j of m[i][j] * x[j] */
static void
multiply(double *y, const double *m, const double *bias, int64_t rows,
         const double *x, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = bias ? bias[i] : 0;

        for (int64_t j = 0; j < columns; j++)
            sum += m[i * columns + j] * x[j];
        y[i] = sum;
    }
}

static double
apply(const layer *l, int f, double x)
{
    double clip = (double)l->attrs->clip;

    if (clip > 0)
        x = glow_minimum(glow_maximum(x, -clip), clip);
    return glow_activate(&l->f[f], x);
}

static void
rnn_step(const layer *l, double *h, double *c)
{
    (void)c;
    multiply(l->from_h, l->r, l->rb, l->hidden, h, l->hidden);
    for (int64_t i = 0; i < l->hidden; i++)
        h[i] = apply(l, 0, l->from_x[i] + l->from_h[i]);
}

/* Rows: update, reset, hidden. */
static void
gru_step(const layer *l, double *h, double *c)
{
    int64_t size = l->hidden;
    const double *x = l->from_x;
    double *u = l->from_h;
    bool before = l->attrs->linear_before_reset;

    (void)c;
    multiply(u, l->r, l->rb, (before ? 3 : 2) * size, h, size);
    for (int64_t i = 0; i < 2 * size; i++)
        u[i] = apply(l, 0, x[i] + u[i]);
    if (!before) {
        for (int64_t i = 0; i < size; i++)
            l->reset[i] = u[size + i] * h[i];
        multiply(u + 2 * size, l->r + 2 * size * size,
                 l->rb ? l->rb + 2 * size : NULL, size, l->reset, size);
    }
    for (int64_t i = 0; i < size; i++) {
        double z = u[i], v = u[2 * size + i];

        v = apply(l, 1, x[2 * size + i] + (before ? u[size + i] * v : v));
        h[i] = (1 - z) * v + z * h[i];
    }
}

/* Rows: input, output, forget, cell; peepholes: input, output, forget. */
static void
lstm_step(const layer *l, double *h, double *c)
{
    int64_t size = l->hidden;
    double *u = l->from_h;

    multiply(u, l->r, l->rb, 4 * size, h, size);
    for (int64_t i = 0; i < 4 * size; i++)
        u[i] += l->from_x[i];
    for (int64_t i = 0; i < size; i++) {
        const double *p = l->p;
        double in = apply(l, 0, u[i] + (p ? p[i] * c[i] : 0));
        double forget =
            l->attrs->input_forget
                ? 1 - in
                : apply(l, 0,
                        u[2 * size + i] + (p ? p[2 * size + i] * c[i] : 0));

        c[i] = forget * c[i] + in * apply(l, 1, u[3 * size + i]);
        h[i] = apply(l, 0, u[size + i] + (p ? p[size + i] * c[i] : 0)) *
               glow_activate(&l->f[2], c[i]);
    }
}

/* The slice of operand `i` for direction `d`; NULL if it is omitted. */
static const double *
part(const glow_node *n, glow_tensor *const in[], int i, int d,
     glow_arena *scratch)
{
    const glow_tensor *t = i < n->n_in ? in[i] : NULL;
    int64_t count;
    double *v;

    if (!t)
        return NULL;
    count = glow_tensor_count(t) / directions_of(n->attrs);
    v = GLOW_NEW_ARRAY(scratch, double, count);
    glow_load(t, d * count, count, v);
    return v;
}

static layer
layer_of(const glow_node *n, glow_tensor *const in[], int d, int activations,
         glow_arena *scratch)
{
    glow_dims r = in[R]->type->shape;
    const double *bias = part(n, in, BIAS, d, scratch);
    layer l = {
        .attrs = n->attrs,
        .input = in[X]->type->shape.at[2],
        .hidden = r.at[2],
        .w = part(n, in, W, d, scratch),
        .r = part(n, in, R, d, scratch),
        .wb = bias,
        .rb = bias ? bias + r.at[1] : NULL,
        .p = part(n, in, PEEPHOLES, d, scratch),
        .from_x = GLOW_NEW_ARRAY(scratch, double, r.at[1]),
        .from_h = GLOW_NEW_ARRAY(scratch, double, r.at[1]),
        .reset = GLOW_NEW_ARRAY(scratch, double, r.at[2]),
    };

    l.gates = l.hidden ? (int)(r.at[1] / l.hidden) : 0;
    glow_recurrent_activations(n->attrs, activations, d, l.f);
    return l;
}

/* The state that direction `d` begins with. */
static double *
initial(const glow_node *n, glow_tensor *const in[], int i, int d,
        int64_t count, glow_arena *scratch)
{
    double *v = GLOW_NEW_ARRAY(scratch, double, count);

    if (i < n->n_in && in[i])
        glow_load(in[i], d * count, count, v);
    return v;
}

/*
 * Sets l->from_x to the contribution of row `row` of X to the gates of
 * direction `d`.
 */
static void
project(const layer *l, const glow_tensor *from, int64_t row, int64_t d,
        double *x)
{
    int64_t gates = l->gates * l->hidden;

    if (l->w) {
        glow_load(from, row * l->input, l->input, x);
        multiply(l->from_x, l->w, l->wb, gates, x, l->input);
        return;
    }
    glow_load(from, row * l->input + d * gates, gates, l->from_x);
    for (int64_t i = 0; l->wb && i < gates; i++)
        l->from_x[i] += l->wb[i];
}

/* Runs direction `d`; steps beyond a sequence's length leave its state alone. */
static void
run_layer(const layer *l, glow_tensor *const in[], int d, double *h, double *c,
          const glow_tensor *y, glow_arena *scratch)
{
    int64_t steps = in[X]->type->shape.at[0], batch = in[X]->type->shape.at[1];
    int64_t directions = y->type->shape.at[1], size = l->hidden;
    bool reverse = d == 1 || l->attrs->direction == GLOW_REVERSE;
    double *x = GLOW_NEW_ARRAY(scratch, double, l->input);
    double *none = GLOW_NEW_ARRAY(scratch, double, size);

    for (int64_t s = 0; s < steps; s++)
        for (int64_t b = 0; b < batch; b++) {
            int64_t t = reverse ? steps - 1 - s : s;
            int64_t at = ((t * directions + d) * batch + b) * size;

            if (in[LENGTHS] && t >= glow_get_int(in[LENGTHS], b)) {
                glow_store(y, at, size, none);
                continue;
            }
            project(l, in[X], t * batch + b, d, x);
            l->step(l, h + b * size, c + b * size);
            glow_store(y, at, size, h + b * size);
        }
}

static bool
recurrent_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch, int activations,
               void (*step)(const layer *l, double *h, double *c))
{
    int directions = directions_of(n->attrs);
    int64_t count = glow_tensor_count(out[1]) / directions;

    for (int d = 0; d < directions && count > 0; d++) {
        layer l = layer_of(n, in, d, activations, scratch);
        double *h = initial(n, in, INITIAL_H, d, count, scratch);
        double *c = initial(n, in, INITIAL_C, d, count, scratch);

        l.step = step;
        run_layer(&l, in, d, h, c, out[0], scratch);
        glow_store(out[1], d * count, count, h);
        if (glow_op_results(n->op) > 2)
            glow_store(out[2], d * count, count, c);
    }
    return true;
}

/* The products of all steps. */
static int64_t
recurrent_flops(const glow_node *n)
{
    glow_dims r = n->in[R]->type->shape;
    int64_t input = n->in[W] ? n->in[W]->type->shape.at[2] : 0;

    if (r.at[2] == 0)
        return 0;
    return glow_multiply_adds(n->out[0], r.at[1] / r.at[2] * (input + r.at[2]));
}

static const char *const directions[] = {"forward", "reverse", "bidirectional",
                                         NULL};

#define OPERANDS(G)                                                    \
    {"X", GLOW_TENSOR, "[T, B, I]: T steps of a batch"},               \
        {"W", GLOW_OPTIONAL,                                           \
         "[D, " G                                                      \
         " H, I]: of X, for each of D directions; omitted, X is what " \
         "it would give them, [T, B, D " G " H]"},                     \
        {"R", GLOW_TENSOR, "[D, " G " H, H]: of the state"},           \
        {"Bias", GLOW_OPTIONAL,                                        \
         "[D, 2 " G " H]: those of W, then those of R"},               \
        {"SequenceLens", GLOW_OPTIONAL,                                \
         "[B], index32 or index64: how many steps of each count"},     \
        {"InitialH", GLOW_OPTIONAL,                                    \
         "[D, B, H]: the state before the first step"}

#define RESULTS                                                     \
    {"Y", GLOW_TENSOR, "[T, D, B, H]: the states after each step"}, \
        {"Yh", GLOW_TENSOR, "[D, B, H]: the state after the last"}

#define ATTRIBUTES                                                            \
    GLOW_FIELD_ENUM(glow_recurrent, direction, directions,                    \
                    "from the first step on, from the last one back, or one " \
                    "of each, whose results lie side by side"),               \
        GLOW_FIELD_DEFAULT(glow_recurrent, activations, GLOW_STRING,          \
                           "the functions of the formula, with blanks "       \
                           "between them; of both directions, or first of "   \
                           "one and then of the other"),                      \
        GLOW_FIELD_DEFAULT(glow_recurrent, activation_alpha, GLOW_FLOATS,     \
                           "the alpha of each of them; `[]`: their "          \
                           "defaults"),                                       \
        GLOW_FIELD_DEFAULT(glow_recurrent, activation_beta, GLOW_FLOATS,      \
                           "the beta of each of them; `[]`: their defaults"), \
        GLOW_FIELD_DEFAULT(glow_recurrent, clip, GLOW_FLOAT32,                \
                           "what goes into a gate's function is first "       \
                           "brought within -Clip to Clip; 0: it is not")

#define COMMON_DOC                                                             \
    "  A sequence that is over leaves the state as it is, and gives 0 in Y; "  \
    "the reverse direction begins at its last step.  What is omitted is 0.  "  \
    "Functions: Affine `a x + b`, Elu `a (e^x - 1)` of negative x, "           \
    "HardSigmoid `min(max(a x + b, 0), 1)`, LeakyRelu `a x` of negative x, "   \
    "Relu, ScaledTanh `a tanh(b x)`, Sigmoid, Softplus `ln(1 + e^x)`, "        \
    "Softsign `x / (1 + |x|)`, Tanh, ThresholdedRelu (0 below a); by default " \
    "a is 1 and b is 0, but a is 0.01 of LeakyRelu, b is 1 of ScaledTanh, "    \
    "and they are 0.2 and 0.5 of HardSigmoid."

/* rnn */

static bool
rnn_infer(const glow_node *n, glow_type out[])
{
    return recurrent_infer(n, out, 1, 1);
}

static bool
rnn_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    return recurrent_eval(n, in, out, scratch, 1, rnn_step);
}

const glow_op glow_op_rnn = {
    .name = "RNN",
    .summary = "a simple recurrent network over a sequence",
    .in = {OPERANDS("")},
    .out = {RESULTS},
    .attrs = {ATTRIBUTES},
    .defaults = &(const glow_rnn){.activations = "Tanh"},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = rnn_infer,
    .eval = rnn_eval,
    .flops = recurrent_flops,
    .doc = "With Activations f: `h' = f(W x + Wb + R h + Rb)`." COMMON_DOC,
    .source = "Elman, Finding Structure in Time, 1990; ONNX RNN",
};

/* gru */

static bool
gru_infer(const glow_node *n, glow_type out[])
{
    return recurrent_infer(n, out, 3, 2);
}

static bool
gru_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    return recurrent_eval(n, in, out, scratch, 2, gru_step);
}

const glow_op glow_op_gru = {
    .name = "GRU",
    .summary = "a network of gated recurrent units over a sequence",
    .in = {OPERANDS("3")},
    .out = {RESULTS},
    .attrs = {ATTRIBUTES,
              GLOW_FIELD_DEFAULT(glow_recurrent, linear_before_reset, GLOW_FLAG,
                                 "multiply by R before the reset, not after")},
    .defaults = &(const glow_gru){.activations = "Sigmoid Tanh"},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = gru_infer,
    .eval = gru_eval,
    .flops = recurrent_flops,
    .doc = "The rows of W and R are those of z, r and v, and Activations are f "
           "and g: `z = f(Wz x + Rz h)`, `r = f(Wr x + Rr h)`, `v = g(Wv x + "
           "Rv (r * h))`, or with LinearBeforeReset `g(Wv x + r * (Rv h))`; "
           "`h' = (1 - z) * v + z * h`.  Each product takes its Bias with "
           "it." COMMON_DOC,
    .source = "Cho et al., Learning Phrase Representations, arXiv:1406.1078; "
              "ONNX GRU",
};

/* lstm */

static bool
lstm_infer(const glow_node *n, glow_type out[])
{
    return recurrent_infer(n, out, 4, 3);
}

static bool
lstm_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    return recurrent_eval(n, in, out, scratch, 3, lstm_step);
}

const glow_op glow_op_lstm = {
    .name = "LSTM",
    .summary = "a network of long short-term memory over a sequence",
    .in = {OPERANDS("4"),
           {"InitialC", GLOW_OPTIONAL,
            "[D, B, H]: the cells before the first step"},
           {"P", GLOW_OPTIONAL, "[D, 3 H]: peepholes of i, o and f"}},
    .out = {RESULTS,
            {"Yc", GLOW_TENSOR, "[D, B, H]: the cells after the last"}},
    .attrs = {ATTRIBUTES, GLOW_FIELD_DEFAULT(
                              glow_recurrent, input_forget, GLOW_FLAG,
                              "f is 1 - i (Glow's importer takes i as 1 - f)")},
    .defaults = &(const glow_lstm){.activations = "Sigmoid Tanh Tanh"},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = lstm_infer,
    .eval = lstm_eval,
    .flops = recurrent_flops,
    .doc = "The rows of W and R are those of i, o, f and v, and Activations "
           "are s, g and k: `i = s(Wi x + Ri h + Pi * c)`, `f = s(Wf x + Rf h "
           "+ Pf * c)`, `v = g(Wv x + Rv h)`, `c' = f * c + i * v`, `o = s(Wo "
           "x + Ro h + Po * c')`, `h' = o * k(c')`.  Each product takes its "
           "Bias with it." COMMON_DOC,
    .source = "Hochreiter, Schmidhuber, Long Short-Term Memory, 1997; Gers, "
              "Schraudolph, Learning Precise Timing, 2002 (peepholes); ONNX "
              "LSTM",
};

/*
 * Lowering of recurrent networks, parametrized by their cell.
 *
 *     %x = MatMul(X as [T B, I], Transpose(W))                  [T, B, D G H]
 *     %Y, %Yh, %Yc = the same network of %x, without W
 *
 * and if the backend does not take the network without W either, for each
 * direction
 *
 *     %x = Slice(%x as [T B, D G H]) + biases                     [T B, G H]
 *     for each step t, in the order of the direction:
 *         %h.t, %c.t = cell(rows t B, ... of %x, %h before, %c before)
 *     %Y = Concat(%h.0, ..., %h.T-1);  %Yh, %Yc = the last ones
 *
 * X takes one product for all steps and directions, so that only the state is
 * multiplied step by step.  With SequenceLens, Select keeps the state of
 * sequences that have ended (`t < length` does not hold) and puts 0 into Y, in
 * both directions.
 */

#include "lower/recurrent.h"

#include <string.h>

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };

/* Activations. */

static glow_value *
splat(glow_builder *b, glow_value *like, double v)
{
    return like ? glow_lower_splat(b, like->type, v) : NULL;
}

static glow_value *
affine(glow_builder *b, glow_value *x, const glow_activation *f)
{
    return glow_lower_plus(b, glow_lower_times(b, x, (double)f->alpha),
                           (double)f->beta);
}

/* e^min(x, 0), so that no infinity arises where its result is not selected. */
static glow_value *
elu(glow_builder *b, glow_value *x, const glow_activation *f)
{
    glow_value *zero = splat(b, x, 0);
    glow_value *y = GLOW_BUILD_PLAIN(b, min, GLOW_IN(x, zero));

    y = glow_lower_plus(b, GLOW_BUILD_PLAIN(b, exp, GLOW_IN(y)), -1);
    y = glow_lower_times(b, y, (double)f->alpha);

    glow_value *negative = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(x, zero));

    return glow_build_select(b, negative, y, x);
}

static glow_value *
hard_sigmoid(glow_builder *b, glow_value *x, const glow_activation *f)
{
    return GLOW_BUILD(b, hardsigmoid, GLOW_IN(x), .alpha = f->alpha,
                      .beta = f->beta);
}

static glow_value *
leaky_relu(glow_builder *b, glow_value *x, const glow_activation *f)
{
    return GLOW_BUILD(b, leakyrelu, GLOW_IN(x), .alpha = f->alpha);
}

static glow_value *
relu(glow_builder *b, glow_value *x, const glow_activation *f)
{
    (void)f;
    return GLOW_BUILD_PLAIN(b, relu, GLOW_IN(x));
}

static glow_value *
tangent(glow_builder *b, glow_value *x, const glow_activation *f)
{
    (void)f;
    return GLOW_BUILD_PLAIN(b, tanh, GLOW_IN(x));
}

static glow_value *
scaled_tanh(glow_builder *b, glow_value *x, const glow_activation *f)
{
    glow_value *y = tangent(b, glow_lower_times(b, x, (double)f->beta), f);

    return glow_lower_times(b, y, (double)f->alpha);
}

static glow_value *
sigmoid(glow_builder *b, glow_value *x, const glow_activation *f)
{
    (void)f;
    return GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(x));
}

/* max(x, 0) + ln(1 + e^-|x|), which cannot overflow. */
static glow_value *
softplus(glow_builder *b, glow_value *x, const glow_activation *f)
{
    glow_value *y = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));

    y = glow_build_neg(b, y);
    y = glow_lower_plus(b, GLOW_BUILD_PLAIN(b, exp, GLOW_IN(y)), 1);
    y = glow_build_log(b, y);
    return glow_build_add(b, relu(b, x, f), y);
}

static glow_value *
softsign(glow_builder *b, glow_value *x, const glow_activation *f)
{
    glow_value *y = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(x));

    (void)f;
    return glow_build_div(b, x, glow_lower_plus(b, y, 1));
}

static glow_value *
thresholded_relu(glow_builder *b, glow_value *x, const glow_activation *f)
{
    glow_value *least = splat(b, x, (double)f->alpha);
    glow_value *below = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(x, least));

    return glow_build_select(b, below, splat(b, x, 0), x);
}

static const struct {
    const char *name;
    glow_value *(*build)(glow_builder *b, glow_value *x,
                         const glow_activation *f);
} functions[] = {
    {"Affine", affine},
    {"Elu", elu},
    {"HardSigmoid", hard_sigmoid},
    {"LeakyRelu", leaky_relu},
    {"Relu", relu},
    {"ScaledTanh", scaled_tanh},
    {"Sigmoid", sigmoid},
    {"Softplus", softplus},
    {"Softsign", softsign},
    {"Tanh", tangent},
    {"ThresholdedRelu", thresholded_relu},
};

glow_value *
glow_lower_recurrent_apply(const recurrent *r, int f, glow_value *x)
{
    const glow_activation *a = &r->f[f];

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, a->name) == 0)
            return functions[i].build(r->b, x, a);
    return NULL;
}

glow_value *
glow_lower_recurrent_apply_gate(const recurrent *r, int f, glow_value *x)
{
    float clip = r->attrs->clip;

    if (clip > 0)
        x = GLOW_BUILD(r->b, clip, GLOW_IN(x), .min = -clip, .max = clip);
    return glow_lower_recurrent_apply(r, f, x);
}

/* Slices of operands. */

/* The slice of operand `i` for direction `d`, without its first axis. */
static glow_value *
part(const recurrent *r, int i, int d)
{
    glow_value *v = i < r->n->n_in ? r->n->in[i] : NULL;
    glow_dims shape = {0};

    if (!v)
        return NULL;
    for (int k = 1; k < v->type->shape.rank; k++)
        shape.at[shape.rank++] = v->type->shape.at[k];
    return glow_build_reshape(r->b, glow_lower_cut(r->b, v, 0, d, 1), shape);
}

static glow_value *
transposed(glow_builder *b, glow_value *v)
{
    return GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = GLOW_DIMS_OF(1, 0));
}

glow_value *
glow_lower_recurrent_gate(const recurrent *r, glow_value *all, int gate)
{
    return glow_lower_cut(r->b, all, 1, gate * r->hidden, r->hidden);
}

glow_value *
glow_lower_recurrent_product(const recurrent *r, glow_value *h, int first,
                             int count)
{
    int64_t from = first * r->hidden, size = count * r->hidden;
    glow_value *m = glow_lower_cut(r->b, r->r, 1, from, size);
    glow_value *y = GLOW_BUILD_PLAIN(r->b, matmul, GLOW_IN(h, m));

    if (!r->rb)
        return y;
    return GLOW_BUILD_PLAIN(
        r->b, batchedadd,
        GLOW_IN(y, glow_lower_cut(r->b, r->rb, 0, from, size)));
}

/*
 * The contribution of X and its bias to the gates of all steps, [T B, G H].
 * Sets r->r and, with `split`, r->rb, the bias of R; else the bias of R is
 * added here too.
 */
static glow_value *
gates_of(recurrent *r, int d, bool split)
{
    glow_value *in = r->n->in[X];
    glow_dims s = in->type->shape;
    int64_t rows = r->gates * r->hidden;
    glow_value *bias = part(r, BIAS, d), *rest;
    glow_value *x =
        glow_build_reshape(r->b, in, GLOW_DIMS_OF(s.at[0] * s.at[1], s.at[2]));

    r->r = transposed(r->b, part(r, R, d));
    x = glow_lower_cut(r->b, x, 1, d * rows, rows);
    if (!bias)
        return x;
    rest = glow_lower_cut(r->b, bias, 0, rows, rows);
    bias = glow_lower_cut(r->b, bias, 0, 0, rows);
    if (split)
        r->rb = rest;
    else
        bias = glow_build_add(r->b, bias, rest);
    return GLOW_BUILD_PLAIN(r->b, batchedadd, GLOW_IN(x, bias));
}

static void
peepholes(recurrent *r, int d)
{
    glow_value *all = part(r, PEEPHOLES, d);

    for (int i = 0; all && i < 3; i++)
        r->p[i] = glow_lower_spread(
            r->b, glow_lower_cut(r->b, all, 0, i * r->hidden, r->hidden), 1,
            GLOW_DIMS_OF(r->batch, r->hidden));
}

/* The state before the first step. */
static glow_value *
initial(const recurrent *r, int i, int d)
{
    glow_value *v = part(r, i, d);
    glow_type type = *r->n->in[X]->type;

    type.shape = GLOW_DIMS_OF(r->batch, r->hidden);
    return v ? v
             : glow_lower_splat(
                   r->b, glow_type_get(glow_builder_context(r->b), type), 0);
}

/* Steps. */

/*
 * Bool [B, H]: true for sequences longer than `t`; NULL without SequenceLens.
 */
static glow_value *
is_running(const recurrent *r, int64_t t)
{
    glow_value *lengths = r->n->in[LENGTHS];
    glow_value *now;

    if (!lengths)
        return NULL;
    now = glow_lower_splat(r->b, lengths->type, (double)t);
    return glow_lower_spread(
        r->b, GLOW_BUILD_PLAIN(r->b, cmplt, GLOW_IN(now, lengths)), 0,
        GLOW_DIMS_OF(r->batch, r->hidden));
}

static glow_value *
choose(const recurrent *r, glow_value *running, glow_value *a, glow_value *b)
{
    if (!running || !a)
        return a;
    return GLOW_BUILD_PLAIN(r->b, select, GLOW_IN(running, a, b));
}

/* Runs direction `d`; the rows of Y, [T, B, H], go to `y`. */
static recurrent_state
run_direction(recurrent *r, int d, glow_value *x, recurrent_step_fn step,
              glow_value **y)
{
    int64_t steps = r->n->in[X]->type->shape.at[0];
    bool reverse = d == 1 || r->attrs->direction == GLOW_REVERSE;
    bool cells = glow_op_results(r->n->op) > 2;
    glow_value *hidden = initial(r, INITIAL_H, d);
    recurrent_state s = {hidden, cells ? initial(r, INITIAL_C, d) : NULL};
    glow_value *zero = r->n->in[LENGTHS] ? splat(r->b, s.h, 0) : NULL;
    glow_value **rows =
        GLOW_NEW_ARRAY(glow_builder_scratch(r->b), glow_value *, steps);

    for (int64_t i = 0; i < steps && !glow_builder_failed(r->b); i++) {
        int64_t t = reverse ? steps - 1 - i : i;
        glow_value *now = glow_lower_cut(r->b, x, 0, t * r->batch, r->batch);
        glow_value *running = is_running(r, t);
        recurrent_state after = step(r, now, s);

        rows[t] = glow_build_reshape(r->b, choose(r, running, after.h, zero),
                                     GLOW_DIMS_OF(1, r->batch, r->hidden));
        s.h = choose(r, running, after.h, s.h);
        s.c = choose(r, running, after.c, s.c);
    }
    *y = glow_build(r->b, &glow_op_concat, NULL, rows, (int)steps,
                    &(const glow_concat){.dim = 0});
    return s;
}

/* The results of the directions, stacked along the new axis `axis`. */
static glow_value *
joined(glow_builder *b, glow_value *const v[2], int count, int axis,
       glow_dims shape)
{
    glow_value *each[2];

    shape.at[axis] = 1;
    for (int i = 0; i < count; i++)
        each[i] = glow_build_reshape(b, v[i], shape);
    return count == 1 ? each[0]
                      : glow_build(b, &glow_op_concat, NULL, each, count,
                                   &(const glow_concat){.dim = axis});
}

/* One product for the X of all steps, and the network without W. */
static glow_value *
project(glow_builder *b, glow_node *n)
{
    glow_dims x = n->in[X]->type->shape, w = n->in[W]->type->shape;
    int64_t rows = w.at[0] * w.at[1];
    glow_value *in = glow_build_reshape(
        b, n->in[X], GLOW_DIMS_OF(x.at[0] * x.at[1], x.at[2]));
    glow_value *by =
        glow_build_reshape(b, n->in[W], GLOW_DIMS_OF(rows, x.at[2]));
    glow_value *y = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(in, transposed(b, by)));

    y = glow_build_reshape(b, y, GLOW_DIMS_OF(x.at[0], x.at[1], rows));
    if (!y)
        return NULL;
    glow_set_operand(n, X, y);
    glow_set_operand(n, W, NULL);
    return glow_keep_rewritten(n);
}

glow_value *
glow_lower_recurrent(glow_builder *b, glow_node *n, int activations, bool split,
                     recurrent_step_fn step)
{
    if (n->in[W])
        return project(b, n);

    glow_dims h = n->out[1]->type->shape;
    int directions = (int)h.at[0];
    glow_value *y[2], *last[2], *cells[2];

    for (int d = 0; d < directions; d++) {
        recurrent r = {
            .b = b,
            .n = n,
            .attrs = n->attrs,
            .batch = h.at[1],
            .hidden = h.at[2],
            .gates = n->in[R]->type->shape.at[1] / (h.at[2] ? h.at[2] : 1),
        };
        glow_value *x = gates_of(&r, d, split);
        recurrent_state s;

        peepholes(&r, d);
        glow_recurrent_activations(r.attrs, activations, d, r.f);
        s = run_direction(&r, d, x, step, &y[d]);
        last[d] = s.h;
        cells[d] = s.c;
    }
    glow_builder_replace(b, n, 0,
                         joined(b, y, directions, 1, n->out[0]->type->shape));
    glow_builder_replace(b, n, 1, joined(b, last, directions, 0, h));
    if (cells[0])
        glow_builder_replace(b, n, 2, joined(b, cells, directions, 0, h));
    return glow_keep_rewritten(n);
}

/* Pooling: a reduction of each window of each channel. */

#include <math.h>

#include "ir/ops/window.h"

/* Called for each window with its taps, and the position `to` of its result. */
typedef void (*window_fn)(const glow_window *w, const glow_taps t[],
                          int64_t batch, int64_t channel, int64_t to,
                          void *user);

static void
for_each_window(const glow_window *w, window_fn fn, void *user)
{
    int64_t to = 0;
    glow_dims at =
        GLOW_DIMS_OF(w->batch, w->at[0].out, w->at[1].out, w->at[2].out);

    if (w->channels == 0)
        return;
    GLOW_FOR_EACH_INDEX(i, at) {
        glow_taps t[GLOW_MOST_SPATIAL];

        for (int a = 0; a < GLOW_MOST_SPATIAL; a++)
            t[a] = glow_window_range(&w->at[a], i.at[1 + a], 0, w->at[a].in);
        for (int64_t c = 0; c < w->channels; c++)
            fn(w, t, i.at[0], c, to++, user);
    }
}

/* The position in Input of tap (i, j, k). */
static int64_t
source_of(const glow_window *w, const glow_taps t[], int64_t batch,
          int64_t channel, int64_t i, int64_t j, int64_t k)
{
    int64_t x = t[0].base + i * w->at[0].dilation;
    int64_t y = t[1].base + j * w->at[1].dilation;
    int64_t z = t[2].base + k * w->at[2].dilation;

    return (((batch * w->at[0].in + x) * w->at[1].in + y) * w->at[2].in + z) *
               w->channels +
           channel;
}

#define FOR_EACH_TAP(i, j, k, t)                             \
    for (int64_t i = (t)[0].first; i < (t)[0].last; i++)     \
        for (int64_t j = (t)[1].first; j < (t)[1].last; j++) \
            for (int64_t k = (t)[2].first; k < (t)[2].last; k++)

/* maxpool, maxpoolwithargmax */

static bool
max_infer(const glow_node *n, glow_type out[])
{
    const glow_maxpool *p = n->attrs;
    glow_window w;

    return glow_admit_real(n, 0, GLOW_ANY_NUMBER) &&
           glow_window_check(n, p->kernels, p->strides, p->pads, p->dilation,
                             &w) &&
           glow_window_outputs(n, &w, p->ceil_mode) &&
           glow_give(
               n,
               glow_reshaped(n->in[0]->type, glow_window_shape(&w, w.channels)),
               &out[0]);
}

static bool
max_arg_infer(const glow_node *n, glow_type out[])
{
    return max_infer(n, out) &&
           glow_give(n, glow_rekinded(&out[0], GLOW_INDEX64), &out[1]);
}

typedef struct max_pool {
    const glow_tensor *in, *out, *argmax;
} max_pool;

/* The position of the maximum of a window, or -1. */
static int64_t
find_max(const glow_window *w, const glow_taps t[], int64_t batch,
         int64_t channel, const glow_tensor *in)
{
    bool is_float = glow_tensor_is_float(in);
    bool is_signed = glow_tensor_is_signed(in);
    int64_t best = -1;

    FOR_EACH_TAP(i, j, k, t)
    {
        int64_t x = source_of(w, t, batch, channel, i, j, k);

        if (best < 0 ||
            (is_float
                 ? glow_beats(glow_get_double(in, x), glow_get_double(in, best))
                 : glow_int_less(glow_get_int(in, best), glow_get_int(in, x),
                                 is_signed)))
            best = x;
    }
    return best;
}

static void
max_window(const glow_window *w, const glow_taps t[], int64_t batch,
           int64_t channel, int64_t to, void *user)
{
    const max_pool *p = user;
    int64_t best = find_max(w, t, batch, channel, p->in);
    glow_dims none = {0};

    if (best < 0)
        glow_set_double(p->out, to, -INFINITY);
    else
        glow_copy_block(p->out, to, none, p->in, best, none, none);
    if (p->argmax)
        glow_set_int(p->argmax, to, best);
}

static bool
max_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    const glow_maxpool *p = n->attrs;
    glow_window w =
        glow_window_of(in[0]->type->shape, out[0]->type->shape, p->kernels,
                       p->strides, p->pads, p->dilation);
    max_pool m = {in[0], out[0], n->n_out > 1 ? out[1] : NULL};

    (void)scratch;
    for_each_window(&w, max_window, &m);
    return true;
}

#define MAX_POOL_ATTRS                                                   \
    {GLOW_FIELD(glow_maxpool, kernels, GLOW_DIMS,                        \
                "the size of a window, per spatial axis"),               \
     GLOW_FIELD(glow_maxpool, strides, GLOW_DIMS,                        \
                "from one window to the next"),                          \
     GLOW_FIELD(glow_maxpool, pads, GLOW_DIMS,                           \
                "elements that never win, before each spatial axis, "    \
                "then after each"),                                      \
     GLOW_FIELD_DEFAULT(glow_maxpool, dilation, GLOW_DIMS,               \
                        "from one element of a window to the next; "     \
                        "`[]`: all 1"),                                  \
     GLOW_FIELD_DEFAULT(glow_maxpool, ceil_mode, GLOW_FLAG,              \
                        "also take a last window that reaches past the " \
                        "pad, if it begins before it")}

const glow_op glow_op_maxpool = {
    .name = "MaxPool",
    .summary = "the greatest element of each window",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, spatial.., C]"}},
    .attrs = MAX_POOL_ATTRS,
    .defaults = &(const glow_maxpool){.ceil_mode = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_ROUNDS_ONCE,
    .infer = max_infer,
    .eval = max_eval,
    .doc =
        "`y[n, h, w, c] = max over i, j of x[n, h * s - p + i * d, w * s' - "
        "p' + j * d', c]`, of what is within Input.  NaN is greater than all; "
        "a window with nothing of Input gives -inf, or the least integer.  "
        "Quantized elements keep their scale and offset.  "
        "An axis of `n` elements gives `(n + p + q - (k - 1) * d - 1) / s + "
        "1`, rounded down.",
    .source = "Glow MaxPool; ONNX MaxPool",
    .derivative = &glow_derivative_maxpool,
};

const glow_op glow_op_maxpoolwithargmax = {
    .name = "MaxPoolWithArgmax",
    .summary = "the greatest element of each window, and where it stands",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, spatial.., C]"},
            {"Argmax", GLOW_TENSOR,
             "index64: the row-major position in the whole of Input"}},
    .attrs = MAX_POOL_ATTRS,
    .defaults = &(const glow_maxpool){.ceil_mode = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = max_arg_infer,
    .eval = max_eval,
    .doc = "As MaxPool.  Of equal elements the first one counts; a window with "
           "nothing of Input has position -1.",
    .source = "Glow MaxPoolWithArgmax; ONNX MaxPool with Indices",
    .derivative = &glow_derivative_maxpoolwithargmax,
};

/* maxpoolgrad */

static bool
max_grad_infer(const glow_node *n, glow_type out[])
{
    const glow_maxpool *p = n->attrs;
    glow_window w;

    return glow_admit(n, 0, GLOW_ANY_FLOAT) && glow_check_kinds(n, 1, 0) &&
           glow_window_check(n, p->kernels, p->strides, p->pads, p->dilation,
                             &w) &&
           glow_window_outputs(n, &w, p->ceil_mode) &&
           glow_check_shape(n, 1, glow_window_shape(&w, w.channels),
                            "that of the windows of Input") &&
           glow_give(n, *n->in[0]->type, &out[0]);
}

/* Sums of gradients by the elements of Input. */
typedef struct max_grad {
    const glow_tensor *in, *gradient;
    double *sums;
} max_grad;

static void
add_to_max(const glow_window *w, const glow_taps t[], int64_t batch,
           int64_t channel, int64_t to, void *user)
{
    const max_grad *m = user;
    int64_t best = find_max(w, t, batch, channel, m->in);

    if (best >= 0)
        m->sums[best] += glow_get_double(m->gradient, to);
}

static bool
max_grad_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    const glow_maxpool *p = n->attrs;
    glow_window w =
        glow_window_of(in[0]->type->shape, in[1]->type->shape, p->kernels,
                       p->strides, p->pads, p->dilation);
    int64_t count = glow_tensor_count(out[0]);
    max_grad m = {in[0], in[1], GLOW_NEW_ARRAY(scratch, double, count)};

    for (int64_t i = 0; i < count; i++)
        m.sums[i] = 0;
    for_each_window(&w, add_to_max, &m);
    glow_store(out[0], 0, count, m.sums);
    return true;
}

const glow_op glow_op_maxpoolgrad = {
    .name = "MaxPoolGrad",
    .summary = "the gradient of a loss by the input of a max pool",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"},
           {"ResultGrad", GLOW_TENSOR,
            "of the shape of the result of MaxPool: the gradient by it"}},
    .out = {{"Result", GLOW_TENSOR, "of the type of Input"}},
    .attrs = MAX_POOL_ATTRS,
    .defaults = &(const glow_maxpool){.ceil_mode = false},
    .traits = GLOW_PURE | GLOW_ROUNDS_ONCE,
    .infer = max_grad_infer,
    .eval = max_grad_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "Each element of ResultGrad is added to the first of the greatest "
           "elements of its window of Input; 0 elsewhere.",
    .source = "Glow MaxPoolGrad",
    .derivative = &glow_derivative_maxpoolgrad,
};

/* avgpool */

static bool
avgpool_infer(const glow_node *n, glow_type out[])
{
    const glow_avgpool *p = n->attrs;
    glow_window w;

    return glow_admit_real(n, 0, GLOW_ANY_FLOAT) &&
           glow_window_check(n, p->kernels, p->strides, p->pads, p->dilation,
                             &w) &&
           glow_window_outputs(n, &w, p->ceil_mode) &&
           glow_give_real(n, glow_window_shape(&w, w.channels), &out[0]);
}

typedef struct avg_pool {
    const glow_tensor *in, *out;
    bool count_pads;
} avg_pool;

/*
 * The number of taps of the window within Input, or with `pads` within Input
 * and its pads.
 */
static double
count_taps(const glow_window *w, const glow_taps t[], bool pads)
{
    double count = 1;

    for (int a = 0; a < GLOW_MOST_SPATIAL; a++) {
        const glow_window_axis *x = &w->at[a];
        int64_t out = (t[a].base + x->start) / x->stride;
        glow_taps all =
            pads ? glow_window_range(x, out, -x->start, x->in + x->end) : t[a];

        count *= (double)(all.last - all.first);
    }
    return count;
}

static void
avg_window(const glow_window *w, const glow_taps t[], int64_t batch,
           int64_t channel, int64_t to, void *user)
{
    const avg_pool *p = user;
    double sum = 0, zero = (double)p->in->type->offset;

    FOR_EACH_TAP(i, j, k, t)
    sum +=
        glow_get_double(p->in, source_of(w, t, batch, channel, i, j, k)) - zero;
    glow_set_mean(p->out, to, p->in->type, sum,
                  count_taps(w, t, p->count_pads));
}

static bool
avgpool_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    const glow_avgpool *p = n->attrs;
    glow_window w =
        glow_window_of(in[0]->type->shape, out[0]->type->shape, p->kernels,
                       p->strides, p->pads, p->dilation);
    avg_pool a = {in[0], out[0], p->count_include_pads};

    (void)scratch;
    for_each_window(&w, avg_window, &a);
    return true;
}

const glow_op glow_op_avgpool = {
    .name = "AvgPool",
    .summary = "the mean of each window",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"}},
    .out = {{"Result", GLOW_TENSOR,
             "y, of shape [N, spatial.., C], or the stated quantized type"}},
    .attrs = {GLOW_FIELD(glow_avgpool, kernels, GLOW_DIMS,
                         "the size of a window, per spatial axis"),
              GLOW_FIELD(glow_avgpool, strides, GLOW_DIMS,
                         "from one window to the next"),
              GLOW_FIELD(glow_avgpool, pads, GLOW_DIMS,
                         "zeros before each spatial axis, then after each"),
              GLOW_FIELD_DEFAULT(glow_avgpool, dilation, GLOW_DIMS,
                                 "from one element of a window to the next; "
                                 "`[]`: all 1"),
              GLOW_FIELD_DEFAULT(
                  glow_avgpool, ceil_mode, GLOW_FLAG,
                  "also take a last window that reaches past the "
                  "pad, if it begins before it"),
              GLOW_FIELD(glow_avgpool, count_include_pads, GLOW_FLAG,
                         "pads count as elements of the window")},
    .defaults = &(const glow_avgpool){.ceil_mode = false},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_ROUNDS_ONCE,
    .infer = avgpool_infer,
    .eval = avgpool_eval,
    .doc = "The sum of the elements of the window that are within Input, "
           "divided by their number; with CountIncludePads, by that of the "
           "elements within Input and its pads.  What a window of CeilMode "
           "reaches beyond the pads never counts.  A window with nothing to "
           "count gives 0 / 0." GLOW_MEAN_DOC,
    .source = "Glow AvgPool; ONNX AveragePool",
    .derivative = &glow_derivative_avgpool,
};

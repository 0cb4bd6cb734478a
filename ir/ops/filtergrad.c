/*
 * The gradient of a loss by the filter of a convolution.
 *
 * It is evaluated window by window: each adds the product of its results' gradient by
 * the elements that its taps see.
 */

#include "ir/ops/conv.h"
#include "ir/ops/window.h"

/*
 * False after a report if the batches differ, or the windows: ConvTranspose with
 * OutputPadding is the gradient of fewer than fit, but what is left must not be as much
 * as that may be.
 */
static bool
check_results(const glow_node *n, const glow_window *w)
{
    glow_dims d = n->in[1]->type->shape, fit = glow_window_shape(w, 0);

    if (d.at[0] != w->batch)
        return glow_reject(n,
                           "Input has a batch of %" PRId64
                           ", and ResultGrad one of %" PRId64,
                           w->batch, d.at[0]);
    for (int k = 1; k < d.rank - 1; k++) {
        const glow_window_axis *a = &w->at[GLOW_MOST_SPATIAL - w->axes + k - 1];
        int64_t most = a->dilation > a->stride ? a->dilation : a->stride;
        int64_t least = fit.at[k] - (most - 1) / a->stride;

        if (d.at[k] > fit.at[k] || d.at[k] < least || d.at[k] < 1)
            return glow_reject(n,
                               "axis %d of ResultGrad has %" PRId64
                               " elements, but Input has %" PRId64 " windows",
                               k, d.at[k], fit.at[k]);
    }
    return true;
}

static bool
filtergrad_infer(const glow_node *n, glow_type out[])
{
    const glow_convolution *c = n->attrs;
    glow_dims d = n->in[1]->type->shape, f = {.rank = d.rank};
    glow_window w;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_kinds(n, 1, 0) ||
        !glow_window_check(n, c->kernels, c->strides, c->pads, c->dilation,
                           &w) ||
        !glow_check_rank(n, 1, n->in[0]->type->shape.rank) ||
        !glow_check_groups(n, c->group, w.channels, d.at[d.rank - 1]) ||
        !glow_window_outputs(n, &w, false) || !check_results(n, &w))
        return false;
    f.at[0] = d.at[d.rank - 1];
    for (int k = 0; k < w.axes; k++)
        f.at[1 + k] = c->kernels.at[k];
    f.at[f.rank - 1] = w.channels / c->group;
    return glow_give(n, glow_reshaped(n->in[0]->type, f), &out[0]);
}

/* The sums of a group, and what is added to them. */
typedef struct filter_sums {
    glow_window w;
    int64_t channels, outputs; /* of the group */
    double *sums;              /* [outputs, taps, channels] */
    double *x, *d;             /* channels of an element, outputs of a window */
} filter_sums;

static void
add_products(filter_sums *s, int64_t tap)
{
    int64_t row = glow_window_taps(&s->w) * s->channels;
    double *to = s->sums + tap * s->channels;

    for (int64_t o = 0; o < s->outputs; o++, to += row)
        for (int64_t c = 0; c < s->channels; c++)
            to[c] += s->d[o] * s->x[c];
}

/* Adds what the window at `at`, with the batch first, sees of group `g`. */
static void
add_window(filter_sums *s, glow_tensor *const in[], glow_dims at, int64_t g)
{
    const glow_window *w = &s->w;
    glow_dims first = {.rank = GLOW_MOST_SPATIAL}, count = first;
    glow_taps t[GLOW_MOST_SPATIAL];

    for (int i = 0; i < GLOW_MOST_SPATIAL; i++) {
        t[i] = glow_window_range(&w->at[i], at.at[1 + i], 0, w->at[i].in);
        count.at[i] = t[i].last > t[i].first ? t[i].last - t[i].first : 0;
    }
    GLOW_FOR_EACH_INDEX(k, count) {
        int64_t from = at.at[0], tap = 0;

        for (int i = 0; i < GLOW_MOST_SPATIAL; i++) {
            int64_t number = t[i].first + k.at[i];

            from = from * w->at[i].in + t[i].base + number * w->at[i].dilation;
            tap = tap * w->at[i].kernel + number;
        }
        glow_load(in[0], from * w->channels + g * s->channels, s->channels,
                  s->x);
        add_products(s, tap);
    }
}

static bool
filtergrad_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    const glow_convolution *c = n->attrs;
    glow_dims d = in[1]->type->shape, at;
    int64_t outputs = d.at[d.rank - 1], count, window = 0;
    filter_sums s = {
        .w = glow_window_of(in[0]->type->shape, d, c->kernels, c->strides,
                            c->pads, c->dilation),
        .outputs = outputs / c->group,
    };

    s.channels = s.w.channels / c->group;
    count = glow_tensor_count(out[0]) / c->group;
    s.sums = GLOW_NEW_ARRAY(scratch, double, count);
    s.x = GLOW_NEW_ARRAY(scratch, double, s.channels);
    s.d = GLOW_NEW_ARRAY(scratch, double, s.outputs);
    at = GLOW_DIMS_OF(s.w.batch, s.w.at[0].out, s.w.at[1].out, s.w.at[2].out);
    for (int64_t g = 0; g < c->group && count > 0; g++, window = 0) {
        for (int64_t i = 0; i < count; i++)
            s.sums[i] = 0;
        GLOW_FOR_EACH_INDEX(i, at) {
            glow_load(in[1], window++ * outputs + g * s.outputs, s.outputs,
                      s.d);
            add_window(&s, in, i, g);
        }
        glow_store(out[0], g * count, count, s.sums);
    }
    return true;
}

static int64_t
filtergrad_flops(const glow_node *n)
{
    glow_dims f = n->out[0]->type->shape;

    return glow_multiply_adds(n->in[1], glow_dims_product(f, 1, f.rank));
}

const glow_op glow_op_convolutionfiltergrad = {
    .name = "ConvolutionFilterGrad",
    .summary = "the gradient of a loss by the filter of a convolution",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"},
           {"ResultGrad", GLOW_TENSOR,
            "d, of shape [N, spatial.., O]: the gradient by Result of "
            "Convolution"}},
    .out = {{"Result", GLOW_TENSOR, "of shape [O, Kernels.., C / Group]"}},
    .attrs = {GLOW_FIELD(glow_convolution, kernels, GLOW_DIMS,
                         "the size of a filter, per spatial axis"),
              GLOW_FIELD(glow_convolution, strides, GLOW_DIMS,
                         "from one window to the next, in elements of Input"),
              GLOW_FIELD(glow_convolution, pads, GLOW_DIMS,
                         "zeros before each spatial axis, then after each"),
              GLOW_FIELD(glow_convolution, group, GLOW_INT64,
                         "how many groups the channels fall into"),
              GLOW_FIELD_DEFAULT(glow_convolution, dilation, GLOW_DIMS,
                                 "from one element of a filter to the next, in "
                                 "elements of Input; `[]`: all 1")},
    .defaults = &(const glow_convolution){.dilation = {.rank = 0}},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = filtergrad_infer,
    .eval = filtergrad_eval,
    .flops = filtergrad_flops,
    .doc =
        "With two spatial axes: `g[o, i, j, c] = sum over n, h, w of d[n, "
        "h, w, o] * x[n, h * s - p + i * d, w * s' - p' + j * d', c]`, where "
        "`x` is 0 outside of Input, and `c` counts the channels of the "
        "group of `o`.  Of windows dilated by more than their stride the "
        "last may be missing in ResultGrad.",
    .source = "Glow ConvolutionGrad",
    .derivative = &glow_derivative_convolutionfiltergrad,
};

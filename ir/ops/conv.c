/*
 * Convolution and its transpose, over one to three spatial axes.
 *
 * Both are evaluated as a matrix product for each group (im2col): a row of A is
 * the window of one result in Input, with zeros outside of Input, and a column
 * of B is one filter.
 */

#include "ir/ops/conv.h"

#include <string.h>

#include "glow/tiling.h"
#include "ir/ops/product.h"
#include "ir/ops/window.h"

/* Context of the product of one group. */
typedef struct lines {
    glow_window w;
    const glow_tensor *in, *bias, *out;
    int64_t group;         /* number of the group */
    int64_t channels;      /* of Input, in a group */
    int64_t results;       /* channels of Result, in a group */
    int64_t outputs;       /* channels of Result, in all */
    const glow_sums *sums; /* of quantized elements, else NULL */
} lines;

/* The result at position `row` of A: batch and spatial axes. */
static void
position(const glow_window *w, int64_t row, int64_t *batch, int64_t at[])
{
    for (int i = GLOW_MOST_SPATIAL - 1; i >= 0; i--) {
        at[i] = row % w->at[i].out;
        row /= w->at[i].out;
    }
    *batch = row;
}

/* Adds the bias to a row of C and stores it. */
static void
take_row(const void *user, int64_t row, int64_t first, int64_t count, double *c)
{
    const lines *l = user;
    int64_t channel = l->group * l->results + first;

    if (l->sums) {
        glow_store_sums(l->sums, l->out, row * l->outputs + channel, channel,
                        count, c);
        return;
    }
    for (int64_t j = 0; j < count && l->bias; j++)
        c[j] += glow_get_double(l->bias, channel + j);
    glow_store(l->out, row * l->outputs + channel, count, c);
}

/*
 * Multiplies group by group; `by_columns`: the numbers of one column of B are
 * contiguous in Filter.
 */
static void
multiply_groups(lines *l, const glow_tensor *filter, int64_t groups,
                bool by_columns,
                void (*give)(const void *user, int64_t first, int64_t count,
                             double *a))
{
    int64_t depth;

    if (glow_tensor_count(l->out) == 0)
        return;
    l->channels = l->w.channels / groups;
    depth = glow_window_taps(&l->w) * l->channels;
    for (l->group = 0; l->group < groups; l->group++)
        glow_multiply(&(glow_product){
            .rows = l->w.batch * glow_window_results(&l->w),
            .columns = l->results,
            .depth = depth,
            .b = filter,
            .b_at = l->group * l->results * depth,
            .b_depth = by_columns ? 1 : l->results,
            .b_column = by_columns ? depth : 1,
            .b_offsets =
                l->sums ? l->sums->b_offsets + l->group * l->results : NULL,
            .give = give,
            .take = take_row,
            .user = l,
        });
}

bool
glow_check_groups(const glow_node *n, int64_t group, int64_t inputs,
                  int64_t outputs)
{
    if (group < 1)
        return glow_reject(n, "Group is %" PRId64 ", but must be at least 1",
                           group);
    if (inputs % group != 0)
        return glow_reject(
            n, "Group is %" PRId64 ", but Input has %" PRId64 " channels",
            group, inputs);
    if (outputs % group != 0)
        return glow_reject(
            n, "Group is %" PRId64 ", but Filter makes %" PRId64 " channels",
            group, outputs);
    return true;
}

/* Kinds and ranks, and Filter [first, kernels.., last] and Bias [outputs]. */
static bool
check_operands(const glow_node *n)
{
    return glow_admit(n, 0, GLOW_ANY_FLOAT) && glow_check_kinds(n, 1, 0) &&
           (!n->in[2] || glow_check_kinds(n, 2, 0)) &&
           glow_check_rank(n, 1, n->in[0]->type->shape.rank);
}

static bool
check_filter(const glow_node *n, glow_dims kernels, int64_t first, int64_t last,
             int64_t outputs)
{
    glow_dims want = {.rank = kernels.rank + 2, .at = {first}};

    for (int i = 0; i < kernels.rank; i++)
        want.at[1 + i] = kernels.at[i];
    want.at[1 + kernels.rank] = last;
    return glow_check_shape(n, 1, want,
                            "what Input, Kernels and Group ask for") &&
           (!n->in[2] || glow_check_shape(n, 2, GLOW_DIMS_OF(outputs),
                                          "that of the channels of Result"));
}

/* convolution */

/* The shape of the result. */
static bool
convolution_shape(const glow_node *n, const glow_convolution *c,
                  glow_dims *shape)
{
    int64_t outputs = n->in[1]->type->shape.at[0];
    glow_window w;

    if (!glow_window_check(n, c->kernels, c->strides, c->pads, c->dilation,
                           &w) ||
        !glow_check_groups(n, c->group, w.channels, outputs) ||
        !check_filter(n, c->kernels, outputs, w.channels / c->group, outputs) ||
        !glow_window_outputs(n, &w, false))
        return false;
    *shape = glow_window_shape(&w, outputs);
    return true;
}

bool
glow_convolution_infer(const glow_node *n, const glow_convolution *c,
                       glow_type out[])
{
    glow_dims shape;

    return check_operands(n) && convolution_shape(n, c, &shape) &&
           glow_give(n, glow_reshaped(n->in[0]->type, shape), &out[0]);
}

bool
glow_convolution_infer_quantized(const glow_node *n, const glow_convolution *c,
                                 bool by_channel, glow_type out[])
{
    glow_dims shape, f = n->in[1]->type->shape;

    return glow_check_products(n, 2, &out[0]) &&
           glow_check_rank(n, 1, n->in[0]->type->shape.rank) &&
           convolution_shape(n, c, &shape) &&
           glow_check_sums(n, glow_dims_product(f, 1, f.rank), by_channel) &&
           glow_give_quantized(n, shape, &out[0]);
}

static bool
convolution_infer(const glow_node *n, glow_type out[])
{
    if (glow_is_quantized(n->in[0]->type->elem))
        return glow_convolution_infer_quantized(n, n->attrs, false, out);
    return glow_admit(n, 0, GLOW_ANY_FLOAT | GLOW_CLASS_QUANTIZED) &&
           glow_convolution_infer(n, n->attrs, out);
}

/* Rows of A: tap by tap, the channels of the group. */
static void
give_windows(const void *user, int64_t first, int64_t count, double *a)
{
    const lines *l = user;
    const glow_window *w = &l->w;
    int64_t taps = glow_window_taps(w);

    memset(a, 0, (size_t)(count * taps * l->channels) * sizeof(*a));
    for (int64_t row = first; row < first + count; row++) {
        int64_t batch, at[GLOW_MOST_SPATIAL];
        glow_taps t[GLOW_MOST_SPATIAL];

        position(w, row, &batch, at);
        for (int i = 0; i < GLOW_MOST_SPATIAL; i++)
            t[i] = glow_window_range(&w->at[i], at[i], 0, w->at[i].in);
        for (int64_t i = t[0].first; i < t[0].last; i++)
            for (int64_t j = t[1].first; j < t[1].last; j++)
                for (int64_t k = t[2].first; k < t[2].last; k++) {
                    int64_t x = t[0].base + i * w->at[0].dilation;
                    int64_t y = t[1].base + j * w->at[1].dilation;
                    int64_t z = t[2].base + k * w->at[2].dilation;
                    int64_t from =
                        ((batch * w->at[0].in + x) * w->at[1].in + y) *
                            w->at[2].in +
                        z;
                    int64_t tap =
                        (i * w->at[1].kernel + j) * w->at[2].kernel + k;

                    glow_load_left(l->sums, l->in,
                                   from * w->channels + l->group * l->channels,
                                   l->channels, a + tap * l->channels);
                }
        a += taps * l->channels;
    }
}

void
glow_convolve(const glow_convolution *c, glow_tensor *const in[],
              const glow_tensor *out, const glow_sums *sums)
{
    int64_t outputs = in[1]->type->shape.at[0];
    lines l = {.w =
                   glow_window_of(in[0]->type->shape, out->type->shape,
                                  c->kernels, c->strides, c->pads, c->dilation),
               .in = in[0],
               .bias = in[2],
               .out = out,
               .results = outputs / c->group,
               .outputs = outputs,
               .sums = sums};

    multiply_groups(&l, in[1], c->group, true, give_windows);
}

static bool
convolution_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    if (glow_is_quantized(out[0]->type->elem)) {
        glow_sums sums =
            glow_sums_of(in[0], in[1], in[2], &(glow_channels){0}, out[0]->type,
                         in[1]->type->shape.at[0], scratch);

        glow_convolve(n->attrs, in, out[0], &sums);
    } else {
        glow_convolve(n->attrs, in, out[0], NULL);
    }
    return true;
}

/*
 * Images, rows, columns and channels of the result; each piece takes all channels of the
 * input.  Of two spatial axes, without groups and dilation.
 */
static bool
convolution_tile(const glow_node *n, glow_tiling *t)
{
    const glow_convolution *c = n->attrs;
    glow_dims y = n->out[0]->type->shape, f = n->in[1]->type->shape;

    if (y.rank != 4 || c->group != 1 || !glow_dims_are(c->dilation, 1))
        return false;
    t->n_axes = t->n_result = 4;
    for (int i = 0; i < 4; i++) {
        t->extent[i] = y.at[i];
        t->out[i] = GLOW_TILE_AXIS(i);
        t->in[1][i] = GLOW_TILE_ALL;
    }
    t->work = (double)glow_dims_product(f, 1, 4);
    t->in[0][0] = GLOW_TILE_AXIS(0);
    t->in[0][3] = GLOW_TILE_ALL;
    for (int i = 0; i < 2; i++)
        t->in[0][i + 1] = (glow_tile_dim){i + 1, c->strides.at[i],
                                          c->kernels.at[i], c->pads.at[i]};
    t->in[1][0] = t->in[2][0] = GLOW_TILE_AXIS(3);
    if (!glow_dims_are(c->pads, 0)) {
        glow_convolution *piece =
            GLOW_NEW(n->func->module->arena, glow_convolution);

        *piece = *c;
        piece->pads = GLOW_DIMS_OF(0, 0, 0, 0);
        t->attrs = piece;
    }
    return true;
}

int64_t
glow_convolution_flops(const glow_node *n)
{
    glow_dims f = n->in[1]->type->shape;

    return glow_multiply_adds(n->out[0], glow_dims_product(f, 1, f.rank));
}

const glow_op glow_op_convolution = {
    .name = "Convolution",
    .summary = "slide filters over a tensor",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"},
           {"Filter", GLOW_TENSOR, "f, of shape [O, Kernels.., C / Group]"},
           {"Bias", GLOW_OPTIONAL, "b, of shape [O]"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, spatial.., O]"}},
    .attrs = GLOW_CONVOLUTION_ATTRS,
    .defaults = &(const glow_convolution){.dilation = {.rank = 0}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_PRODUCT,
    .infer = convolution_infer,
    .eval = convolution_eval,
    .flops = glow_convolution_flops,
    .tile = convolution_tile,
    .doc = "One to three spatial axes.  With two: `y[n, h, w, o] = b[o] + sum "
           "over i, j, c of x[n, h * s - p + i * d, w * s' - p' + j * d', c] * "
           "f[o, i, j, c]`, where `c` runs over the channels of the group of "
           "`o`, and `x` is 0 outside of Input.  An axis of `n` elements gives "
           "`(n + p + q - (k - 1) * d - 1) / s + 1`, rounded "
           "down.\n\n" GLOW_SUMS_DOC GLOW_BIAS_DOC
           "  Outside of Input is its offset.",
    .source = "Glow Convolution, Convolution3D; ONNX Conv",
    .derivative = &glow_derivative_convolution,
};

/* convtranspose */

/* (in - 1) * stride + span + extra - start - end, if that is possible. */
static bool
transposed_size(const glow_node *n, int axis, glow_window_axis *a,
                int64_t extra)
{
    int64_t size;

    if (a->in == 0)
        return glow_reject(n,
                           "axis %d of Input has 0 elements, but at least 1 "
                           "is needed",
                           axis);
    if (extra < 0 || (extra >= a->stride && extra >= a->dilation))
        return glow_reject(n,
                           "OutputPadding on axis %d is %" PRId64 ", but the "
                           "stride is %" PRId64 " and the dilation %" PRId64,
                           axis, extra, a->stride, a->dilation);
    if (glow_mul_overflow(a->in - 1, a->stride, &size) ||
        glow_add_overflow(size, a->span, &size) ||
        glow_add_overflow(size, extra, &size) ||
        glow_add_overflow(size, -a->start, &size) ||
        glow_add_overflow(size, -a->end, &size))
        return glow_reject(n,
                           "axis %d of %" PRId64 " with a stride of %" PRId64
                           " and a kernel that spans %" PRId64
                           " gives more than %" PRId64,
                           axis, a->in, a->stride, a->span, INT64_MAX);
    if (size < 0)
        return glow_reject(n,
                           "pads of %" PRId64 " and %" PRId64
                           " on axis %d leave %" PRId64 " elements",
                           a->start, a->end, axis, size);
    a->out = size;
    return true;
}

static bool
convtranspose_infer(const glow_node *n, glow_type out[])
{
    const glow_convtranspose *c = n->attrs;
    glow_dims f = n->in[1]->type->shape, extra = c->output_padding;
    glow_window w;
    int64_t outputs;

    if (!check_operands(n) ||
        !glow_window_check(n, c->kernels, c->strides, c->pads, c->dilation, &w))
        return false;
    if (extra.rank && extra.rank != w.axes)
        return glow_reject(n,
                           "OutputPadding has %d elements, but Input of rank "
                           "%d needs %d",
                           extra.rank, w.axes + 2, w.axes);
    if (!glow_check_groups(n, c->group, w.channels, 0))
        return false;
    if (glow_mul_overflow(f.at[f.rank - 1], c->group, &outputs))
        return glow_reject(
            n, "%" PRId64 " groups of %" PRId64 " channels are too many",
            c->group, f.at[f.rank - 1]);
    if (!check_filter(n, c->kernels, w.channels, f.at[f.rank - 1], outputs))
        return false;
    for (int i = 0; i < w.axes; i++)
        if (!transposed_size(n, i + 1, &w.at[GLOW_MOST_SPATIAL - w.axes + i],
                             extra.rank ? extra.at[i] : 0))
            return false;
    return glow_give(
        n, glow_reshaped(n->in[0]->type, glow_window_shape(&w, outputs)),
        &out[0]);
}

/*
 * The element `i` of Input that contributes to result `out` through tap `tap`:
 * i * stride - start + tap * dilation = out. -1 if there is none.
 */
static int64_t
source_of(const glow_window_axis *a, int64_t out, int64_t tap)
{
    int64_t x = out + a->start - tap * a->dilation;

    return x >= 0 && x % a->stride == 0 && x / a->stride < a->in ? x / a->stride
                                                                 : -1;
}

/* Rows of A: channel by channel of the group, all taps. */
static void
give_sources(const void *user, int64_t first, int64_t count, double *a)
{
    const lines *l = user;
    const glow_window *w = &l->w;
    int64_t taps = glow_window_taps(w);

    memset(a, 0, (size_t)(count * taps * l->channels) * sizeof(*a));
    for (int64_t row = first; row < first + count; row++) {
        int64_t batch, at[GLOW_MOST_SPATIAL];

        position(w, row, &batch, at);
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t i = tap / (w->at[1].kernel * w->at[2].kernel);
            int64_t j = tap / w->at[2].kernel % w->at[1].kernel;
            int64_t x = source_of(&w->at[0], at[0], i);
            int64_t y = source_of(&w->at[1], at[1], j);
            int64_t z = source_of(&w->at[2], at[2], tap % w->at[2].kernel);
            int64_t from =
                ((batch * w->at[0].in + x) * w->at[1].in + y) * w->at[2].in + z;

            if (x < 0 || y < 0 || z < 0)
                continue;
            from = from * w->channels + l->group * l->channels;
            for (int64_t c = 0; c < l->channels; c++)
                a[c * taps + tap] = glow_get_double(l->in, from + c);
        }
        a += taps * l->channels;
    }
}

static bool
convtranspose_eval(const glow_node *n, glow_tensor *const in[],
                   glow_tensor *const out[], glow_arena *scratch)
{
    const glow_convtranspose *c = n->attrs;
    glow_dims f = in[1]->type->shape;
    lines l = {.w =
                   glow_window_of(in[0]->type->shape, out[0]->type->shape,
                                  c->kernels, c->strides, c->pads, c->dilation),
               .in = in[0],
               .bias = in[2],
               .out = out[0],
               .results = f.at[f.rank - 1],
               .outputs = f.at[f.rank - 1] * c->group};

    (void)scratch;
    multiply_groups(&l, in[1], c->group, false, give_sources);
    return true;
}

static int64_t
convtranspose_flops(const glow_node *n)
{
    glow_dims f = n->in[1]->type->shape;

    return glow_multiply_adds(n->in[0], glow_dims_product(f, 1, f.rank));
}

const glow_op glow_op_convtranspose = {
    .name = "ConvTranspose",
    .summary = "the transpose of a convolution: spread a tensor by filters",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"},
           {"Filter", GLOW_TENSOR, "f, of shape [C, Kernels.., O / Group]"},
           {"Bias", GLOW_OPTIONAL, "b, of shape [O]"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, spatial.., O]"}},
    .attrs = {GLOW_FIELD(glow_convtranspose, kernels, GLOW_DIMS,
                         "the size of a filter, per spatial axis"),
              GLOW_FIELD(glow_convtranspose, strides, GLOW_DIMS,
                         "from where one element of Input is spread to where "
                         "the next is, in elements of Result"),
              GLOW_FIELD(glow_convtranspose, pads, GLOW_DIMS,
                         "elements cut off before each spatial axis, then "
                         "after each"),
              GLOW_FIELD(glow_convtranspose, group, GLOW_INT64,
                         "how many groups the channels fall into"),
              GLOW_FIELD_DEFAULT(glow_convtranspose, dilation, GLOW_DIMS,
                                 "from one element of a filter to the next, in "
                                 "elements of Result; `[]`: all 1"),
              GLOW_FIELD_DEFAULT(glow_convtranspose, output_padding, GLOW_DIMS,
                                 "elements added after each spatial axis; "
                                 "`[]`: none")},
    .defaults = &(const glow_convtranspose){.dilation = {.rank = 0}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_PRODUCT,
    .infer = convtranspose_infer,
    .eval = convtranspose_eval,
    .flops = convtranspose_flops,
    .doc =
        "`y[n, h, w, o]` is `b[o]` and the sum of `x[n, i, j, c] * f[c, k, "
        "l, o]` over all `c` of the group and all `i, j, k, l` with `h = i * "
        "s - p + k * d` and `w = j * s' - p' + l * d'`.  An axis of `n` "
        "elements gives `(n - 1) * s + (k - 1) * d + 1 + extra - p - q`.",
    .source = "Glow ConvTranspose; ONNX ConvTranspose",
    .derivative = &glow_derivative_convtranspose,
};

/*
 * Deformable convolution: each tap of a filter is displaced by an offset, which
 * is a value of the graph.
 */

#include "ir/ops/sample.h"
#include "ir/ops/window.h"

static bool
check_group(const glow_node *n, const char *name, int64_t group, int64_t count,
            const char *what)
{
    if (group < 1 || count % group != 0)
        return glow_reject(n, "%s is %" PRId64 ", but there are %" PRId64 " %s",
                           name, group, count, what);
    return true;
}

/* Checks that operand `i` has `each` numbers for each result. */
static bool
check_moves(const glow_node *n, int i, const glow_window *w, int64_t each)
{
    const glow_deformconv *c = n->attrs;
    int64_t count;

    if (!n->in[i])
        return true;
    if (glow_mul_overflow(each, c->offset_group, &count))
        return glow_reject(n, "OffsetGroup is %" PRId64 ": too many",
                           c->offset_group);
    return glow_check_kinds(n, i, 0) &&
           glow_check_shape(n, i, glow_window_shape(w, count),
                            "what Result, Kernels and OffsetGroup ask for");
}

static bool
check_filter(const glow_node *n, const glow_window *w)
{
    const glow_deformconv *c = n->attrs;
    glow_dims f = n->in[1]->type->shape;

    if (!glow_check_kinds(n, 1, 0) ||
        !glow_check_rank(n, 1, n->in[0]->type->shape.rank) ||
        !check_group(n, "Group", c->group, w->channels, "channels in Input") ||
        !check_group(n, "Group", c->group, f.at[0], "filters") ||
        !check_group(n, "OffsetGroup", c->offset_group, w->channels,
                     "channels in Input"))
        return false;
    f.rank = 1;
    for (int i = 0; i < c->kernels.rank; i++)
        f.at[f.rank++] = c->kernels.at[i];
    f.at[f.rank++] = w->channels / c->group;
    return glow_check_shape(n, 1, f, "what Input, Kernels and Group ask for") &&
           (!n->in[3] || (glow_check_kinds(n, 3, 0) &&
                          glow_check_shape(n, 3, GLOW_DIMS_OF(f.at[0]),
                                           "that of the channels of Result")));
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const glow_deformconv *c = n->attrs;
    glow_dims f = n->in[1]->type->shape;
    glow_window w;
    int64_t taps;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) ||
        !glow_window_check(n, c->kernels, c->strides, c->pads, c->dilation,
                           &w) ||
        !check_filter(n, &w) || !glow_window_outputs(n, &w, false))
        return false;
    for (int i = 0; i < w.axes; i++)
        if (n->in[0]->type->shape.at[1 + i] == 0)
            return glow_reject(n,
                               "axis %d of Input has 0 elements, but at least "
                               "1 is needed",
                               1 + i);
    taps = glow_window_taps(&w);
    return check_moves(n, 2, &w, taps * w.axes) &&
           check_moves(n, 4, &w, taps) &&
           glow_give(
               n, glow_reshaped(n->in[0]->type, glow_window_shape(&w, f.at[0])),
               &out[0]);
}

/* The taps of one result: column[tap * channels + c]. */
typedef struct reader {
    const glow_deformconv *c;
    glow_window w;
    const glow_tensor *in, *offset, *mask;
    int64_t taps;
    double *column;
} reader;

static void
read_tap(const reader *r, glow_dims at, int64_t row, int64_t tap, int64_t group)
{
    const glow_sampling how = {GLOW_RESIZE_LINEAR, GLOW_SAMPLE_ZEROS, true};
    const glow_window *w = &r->w;
    glow_dims strides = glow_dims_strides(r->in->type->shape);
    int64_t entry = (row * r->c->offset_group + group) * r->taps + tap;
    int64_t each = w->channels / r->c->offset_group, rest = tap;
    glow_spot s[GLOW_MOST_SPATIAL];
    double weight = r->mask ? glow_get_double(r->mask, entry) : 1;

    for (int a = w->axes - 1; a >= 0; a--) {
        const glow_window_axis *x = &w->at[GLOW_MOST_SPATIAL - w->axes + a];
        int64_t i = rest % x->kernel;

        rest /= x->kernel;
        s[a] = glow_spot_at(
            &how,
            (double)(at.at[1 + a] * x->stride - x->start + i * x->dilation) +
                glow_get_double(r->offset, entry * w->axes + a),
            x->in);
    }
    for (int64_t c = group * each; c < (group + 1) * each; c++)
        r->column[tap * w->channels + c] =
            weight * glow_spot_sum(r->in, s, w->axes, &strides.at[1],
                                   at.at[0] * strides.at[0] + c);
}

/* Channel `o` of a result: the taps times a filter. */
static double
filtered(const reader *r, const glow_tensor *filter, int64_t o, int64_t outputs)
{
    int64_t each = r->w.channels / r->c->group;
    int64_t first = o / (outputs / r->c->group) * each;
    double sum = 0;

    for (int64_t k = 0; k < r->taps; k++)
        for (int64_t c = 0; c < each; c++)
            sum += r->column[k * r->w.channels + first + c] *
                   glow_get_double(filter, (o * r->taps + k) * each + c);
    return sum;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const glow_deformconv *c = n->attrs;
    glow_dims y = out[0]->type->shape;
    int64_t outputs = y.at[y.rank - 1], row = 0;
    reader r = {.c = c,
                .w = glow_window_of(in[0]->type->shape, y, c->kernels,
                                    c->strides, c->pads, c->dilation),
                .in = in[0],
                .offset = in[2],
                .mask = in[4]};

    r.taps = glow_window_taps(&r.w);
    r.column = GLOW_NEW_ARRAY(scratch, double, r.taps *r.w.channels);
    y.rank--;
    GLOW_FOR_EACH_INDEX(i, y) {
        for (int64_t g = 0; g < c->offset_group; g++)
            for (int64_t k = 0; k < r.taps; k++)
                read_tap(&r, i, row, k, g);
        for (int64_t o = 0; o < outputs; o++)
            glow_set_double(out[0], row * outputs + o,
                            filtered(&r, in[1], o, outputs) +
                                (in[3] ? glow_get_double(in[3], o) : 0));
        row++;
    }
    return true;
}

const glow_op glow_op_deformconv = {
    .name = "DeformConv",
    .summary = "slide filters whose taps are moved by offsets",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"},
           {"Filter", GLOW_TENSOR, "f, of shape [O, Kernels.., C / Group]"},
           {"Offset", GLOW_TENSOR,
            "of shape [N, out.., OffsetGroup * taps * D]: for each tap how far "
            "it is moved on each of D axes"},
           {"Bias", GLOW_OPTIONAL, "b, of shape [O]"},
           {"Mask", GLOW_OPTIONAL,
            "of shape [N, out.., OffsetGroup * taps]: what is read is "
            "multiplied by it"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, out.., O]"}},
    .attrs = {GLOW_FIELD(glow_deformconv, kernels, GLOW_DIMS,
                         "the size of a filter, per spatial axis"),
              GLOW_FIELD(glow_deformconv, strides, GLOW_DIMS,
                         "from one result to the next, in elements of Input"),
              GLOW_FIELD(glow_deformconv, pads, GLOW_DIMS,
                         "zeros before each spatial axis, then after each"),
              GLOW_FIELD(glow_deformconv, group, GLOW_INT64,
                         "how many groups the channels fall into; each is "
                         "convolved by itself"),
              GLOW_FIELD(glow_deformconv, offset_group, GLOW_INT64,
                         "how many groups of channels have offsets of their "
                         "own"),
              GLOW_FIELD_DEFAULT(glow_deformconv, dilation, GLOW_DIMS,
                                 "from one element of a filter to the next, in "
                                 "elements of Input; `[]`: all 1")},
    .defaults = &(const glow_deformconv){.dilation = {.rank = 0}},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = infer,
    .eval = eval,
    .doc = "As Convolution, but a tap reads at its position plus its offset, "
           "linearly between elements; those beyond Input are 0.",
    .source = "ONNX DeformConv; Zhu et al., Deformable ConvNets v2, "
              "arXiv:1811.11168",
};

/*
 * shrink-window: drop the taps of a window that only read padding.
 *
 *     %y = Convolution(%x : [1, 1, 1, 8], @f : [4, 3, 3, 8])
 *              {Kernels: [3, 3], Strides: [2, 2], Pads: [1, 1, 1, 1]}
 *         =>
 *     %g = Slice(@f) {Start: [0, 1, 1, 0]} : [4, 1, 1, 8]
 *     %y = Convolution(%x, %g)
 *              {Kernels: [1, 1], Strides: [1, 1], Pads: [0, 0, 0, 0]}
 *
 * Tap t of window o is at o s - p + t d.  If this is outside of the input for
 * every o, the tap adds nothing; such taps at either end of the kernel are
 * dropped, and the pads with them, as long as the number of windows stays the
 * same.  Filters must be constants, which fold-constants then slices; averages
 * that count their pads keep them.
 *
 * Irrelevant attributes are canonicalized: an axis with one window has the
 * least stride, and one tap has no dilation.
 *
 * Such windows are in networks whose last images are smaller than their
 * kernels, and in strongly dilated ones.  Afterwards the first and the last tap
 * of each axis are used, unless pads cannot express the rest.  Glow's pass
 * handles outputs of one pixel, with square filters of two axes.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

#define MOST_TAPS 4096 /* of one axis, to analyse */

/* The attributes that describe a window, in one form for all operators. */
typedef struct window {
    glow_dims kernels, strides, pads, dilation;
} window;

/* One axis of a window. */
typedef struct axis {
    int64_t in, out, kernel, stride, dilation, start, end;
    int64_t first; /* of the old taps */
} axis;

/* True if tap `t` of some window is an element of the input. */
static bool
is_used(const axis *a, int64_t t)
{
    int64_t at = t * a->dilation - a->start;
    int64_t o = at < 0 ? (-at + a->stride - 1) / a->stride : 0;

    return o < a->out && at + o * a->stride < a->in;
}

/* True if all numbers are below 2^30, so that sums of them do not overflow. */
static bool
is_small(const axis *a)
{
    const int64_t most = INT64_C(1) << 30;

    return a->in > 0 && a->out > 0 && a->in < most && a->out < most &&
           a->stride < most && a->dilation < most && a->start < most &&
           a->end < most && a->kernel <= MOST_TAPS;
}

/*
 * Sets the end pad of `a` that keeps the number of windows; false if there is
 * none.
 */
static bool
set_end(axis *a)
{
    int64_t span = (a->kernel - 1) * a->dilation + 1;
    int64_t room = a->in + a->start - span, want = (a->out - 1) * a->stride;

    if (a->out == 1 && room >= 0)
        a->stride = room + 1;
    want = a->out == 1 ? 0 : want;
    a->end = want > room ? want - room : 0;
    return (room + a->end) / a->stride + 1 == a->out;
}

/*
 * Cuts the kernel to taps [first, last); leaves `a` alone if this is
 * impossible.
 */
static void
cut(axis *a, int64_t first, int64_t last)
{
    axis b = *a;

    b.first = first;
    b.start -= first * b.dilation;
    b.kernel = last - first;
    if (b.kernel == 1)
        b.dilation = 1;
    if (set_end(&b))
        *a = b;
}

static void
shrink(axis *a, bool may_cut)
{
    int64_t first = 0, last = a->kernel;

    if (!is_small(a))
        return;
    if (a->kernel == 1)
        a->dilation = 1;
    while (may_cut && first < last && !is_used(a, first))
        first++;
    while (may_cut && last > first && !is_used(a, last - 1))
        last--;
    if (first == last)
        return;
    if (first * a->dilation > a->start)
        first = a->start / a->dilation;
    if (last - first < a->kernel || (may_cut && a->out == 1)) {
        cut(a, first, last);
    } else if (a->out == 1) {
        int64_t span = (a->kernel - 1) * a->dilation + 1;

        a->stride = a->in + a->start + a->end - span + 1;
    }
}

/*
 * Shrinks all axes of `w`; true if something changed.  Sets `first` to the
 * first remaining tap of each axis.
 */
static bool
shrink_all(window *w, glow_dims in, glow_dims out, bool may_cut,
           glow_dims *first)
{
    int axes = w->kernels.rank;
    bool changed = false;

    *first = (glow_dims){.rank = axes};
    for (int i = 0; i < axes; i++) {
        axis old = {.in = in.at[1 + i],
                    .out = out.at[1 + i],
                    .kernel = w->kernels.at[i],
                    .stride = w->strides.at[i],
                    .dilation = w->dilation.rank ? w->dilation.at[i] : 1,
                    .start = w->pads.at[i],
                    .end = w->pads.at[axes + i]};
        axis a = old;

        shrink(&a, may_cut);
        changed |= a.kernel != old.kernel || a.stride != old.stride ||
                   a.start != old.start || a.end != old.end ||
                   a.dilation != old.dilation;
        w->kernels.at[i] = a.kernel;
        w->strides.at[i] = a.stride;
        w->pads.at[i] = a.start;
        w->pads.at[axes + i] = a.end;
        if (w->dilation.rank)
            w->dilation.at[i] = a.dilation;
        first->at[i] = a.first;
    }
    return changed;
}

static bool
is_padded(glow_dims pads)
{
    for (int i = 0; i < pads.rank; i++)
        if (pads.at[i] != 0)
            return true;
    return false;
}

/* The filter with the remaining taps. */
static glow_value *
cut_filter(glow_builder *b, glow_value *f, const window *w, glow_dims first)
{
    glow_type type = *f->type;
    glow_slice s = {.start.rank = type.shape.rank};

    for (int i = 0; i < w->kernels.rank; i++) {
        type.shape.at[1 + i] = w->kernels.at[i];
        s.start.at[1 + i] = first.at[i];
    }
    if (glow_dims_equal(type.shape, f->type->shape))
        return f;
    return glow_build(b, &glow_op_slice,
                      glow_type_get(glow_builder_context(b), type), GLOW_IN(f),
                      &s);
}

/* The operators: each copies its window out of its attributes, and back. */

static glow_value *
shrink_convolution(glow_builder *b, glow_node *n)
{
    glow_convolution c = *(const glow_convolution *)n->attrs;
    window w = {c.kernels, c.strides, c.pads, c.dilation};
    glow_value *f = n->in[1];
    glow_dims first;

    if (!shrink_all(&w, n->in[0]->type->shape, n->out[0]->type->shape,
                    glow_is_constant(f) && f->type->strides.rank == 0, &first))
        return NULL;
    c.kernels = w.kernels;
    c.strides = w.strides;
    c.pads = w.pads;
    c.dilation = w.dilation;
    f = cut_filter(b, f, &w, first);
    return glow_build(b, n->op, NULL, GLOW_IN(n->in[0], f, n->in[2]), &c);
}

static glow_value *
shrink_maxpool(glow_builder *b, glow_node *n)
{
    glow_maxpool p = *(const glow_maxpool *)n->attrs;
    window w = {p.kernels, p.strides, p.pads, p.dilation};
    glow_dims first;

    if (p.ceil_mode || !shrink_all(&w, n->in[0]->type->shape,
                                   n->out[0]->type->shape, true, &first))
        return NULL;
    p.kernels = w.kernels;
    p.strides = w.strides;
    p.pads = w.pads;
    p.dilation = w.dilation;
    return glow_build(b, n->op, NULL, GLOW_IN(n->in[0]), &p);
}

static glow_value *
shrink_avgpool(glow_builder *b, glow_node *n)
{
    glow_avgpool p = *(const glow_avgpool *)n->attrs;
    window w = {p.kernels, p.strides, p.pads, p.dilation};
    bool may_cut = !p.count_include_pads || !is_padded(p.pads);
    glow_dims first;

    if (p.ceil_mode || !shrink_all(&w, n->in[0]->type->shape,
                                   n->out[0]->type->shape, may_cut, &first))
        return NULL;
    p.kernels = w.kernels;
    p.strides = w.strides;
    p.pads = w.pads;
    p.dilation = w.dilation;
    return glow_build(b, n->op, NULL, GLOW_IN(n->in[0]), &p);
}

static const glow_rewrite_row rows[] = {
    {&glow_op_avgpool, shrink_avgpool},
    {&glow_op_convolution, shrink_convolution},
    {&glow_op_maxpool, shrink_maxpool},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_shrink_window = {
    .name = "shrink-window",
    .summary = "drop taps of windows that only read padding",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .run = run,
    .source = "Glow OptimizeSmallConv",
};

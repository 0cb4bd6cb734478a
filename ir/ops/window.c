#include "ir/ops/window.h"

/* The index in glow_window.at of spatial axis `i` of `axes`. */
static int
slot(int axes, int i)
{
    return GLOW_MOST_SPATIAL - axes + i;
}

glow_window
glow_window_of(glow_dims in, glow_dims out, glow_dims kernels,
               glow_dims strides, glow_dims pads, glow_dims dilation)
{
    glow_window w = {
        .axes = in.rank - 2, .batch = in.at[0], .channels = in.at[in.rank - 1]};

    for (int i = 0; i < GLOW_MOST_SPATIAL; i++)
        w.at[i] = (glow_window_axis){1, 1, 1, 1, 1, 0, 0, 1};
    for (int i = 0; i < w.axes; i++) {
        glow_window_axis *a = &w.at[slot(w.axes, i)];

        a->in = in.at[1 + i];
        a->out = out.rank ? out.at[1 + i] : 0;
        a->kernel = kernels.at[i];
        a->stride = strides.at[i];
        a->dilation = dilation.rank ? dilation.at[i] : 1;
        a->start = pads.at[i];
        a->end = pads.at[w.axes + i];
        a->span = (a->kernel - 1) * a->dilation + 1;
    }
    return w;
}

/* Checks a list of `count` numbers, each at least `least`. */
static bool
check_list(const glow_node *n, const char *name, glow_dims list, int count,
           int64_t least)
{
    if (list.rank != count)
        return glow_reject(n,
                           "%s has %d elements, but Input of rank %d needs "
                           "%d",
                           name, list.rank, n->in[0]->type->shape.rank, count);
    for (int i = 0; i < count; i++)
        if (list.at[i] < least)
            return glow_reject(n,
                               "%s[%d] is %" PRId64 ", but must be at least "
                               "%" PRId64,
                               name, i, list.at[i], least);
    return true;
}

/* Checks that the span of a window fits 64 bits. */
static bool
check_span(const glow_node *n, int axis, int64_t kernel, int64_t dilation)
{
    int64_t span;

    if (glow_mul_overflow(kernel - 1, dilation, &span) ||
        glow_add_overflow(span, 1, &span))
        return glow_reject(n,
                           "a kernel of %" PRId64 " with a dilation of %" PRId64
                           " on axis %d is larger than %" PRId64,
                           kernel, dilation, axis, INT64_MAX);
    return true;
}

bool
glow_window_check(const glow_node *n, glow_dims kernels, glow_dims strides,
                  glow_dims pads, glow_dims dilation, glow_window *w)
{
    glow_dims in = n->in[0]->type->shape;
    int axes = in.rank - 2;

    if (axes < 1 || axes > GLOW_MOST_SPATIAL)
        return glow_reject(n,
                           "the rank of Input is %d, but must be 3 to %d: a "
                           "batch, 1 to %d spatial axes, channels",
                           in.rank, GLOW_MOST_SPATIAL + 2, GLOW_MOST_SPATIAL);
    if (!check_list(n, "Kernels", kernels, axes, 1) ||
        !check_list(n, "Strides", strides, axes, 1) ||
        !check_list(n, "Pads", pads, 2 * axes, 0) ||
        (dilation.rank && !check_list(n, "Dilation", dilation, axes, 1)))
        return false;
    for (int i = 0; i < axes; i++)
        if (!check_span(n, i + 1, kernels.at[i],
                        dilation.rank ? dilation.at[i] : 1))
            return false;
    *w = glow_window_of(in, (glow_dims){0}, kernels, strides, pads, dilation);
    return true;
}

/* The windows of one axis; see glow_window_outputs. */
static bool
count_windows(const glow_node *n, int axis, glow_window_axis *a, bool ceil)
{
    int64_t padded, room;

    if (glow_add_overflow(a->in, a->start, &padded) ||
        glow_add_overflow(padded, a->end, &padded))
        return glow_reject(n,
                           "axis %d of %" PRId64 " with pads of %" PRId64
                           " and %" PRId64 " is larger than %" PRId64,
                           axis, a->in, a->start, a->end, INT64_MAX);
    room = padded - a->span;
    if (room < 0)
        return glow_reject(n,
                           "the kernel spans %" PRId64 " elements of axis %d, "
                           "but the padded Input has %" PRId64,
                           a->span, axis, padded);
    a->out = room / a->stride + 1;
    if (ceil && room % a->stride != 0)
        a->out++;
    if (ceil && a->out - 1 > (a->in + a->start - 1) / a->stride)
        a->out--;
    return true;
}

bool
glow_window_outputs(const glow_node *n, glow_window *w, bool ceil)
{
    for (int i = 0; i < w->axes; i++)
        if (!count_windows(n, i + 1, &w->at[slot(w->axes, i)], ceil))
            return false;
    return true;
}

glow_dims
glow_window_shape(const glow_window *w, int64_t channels)
{
    glow_dims d = {.rank = w->axes + 2};

    d.at[0] = w->batch;
    for (int i = 0; i < w->axes; i++)
        d.at[1 + i] = w->at[slot(w->axes, i)].out;
    d.at[1 + w->axes] = channels;
    return d;
}

int64_t
glow_window_results(const glow_window *w)
{
    return w->at[0].out * w->at[1].out * w->at[2].out;
}

int64_t
glow_window_taps(const glow_window *w)
{
    glow_dims taps =
        GLOW_DIMS_OF(w->at[0].kernel, w->at[1].kernel, w->at[2].kernel);

    return glow_dims_product(taps, 0, taps.rank);
}

/* The least i >= 0 with i * d >= x. */
static int64_t
reach(int64_t x, int64_t d)
{
    return x <= 0 ? 0 : (x - 1) / d + 1;
}

glow_taps
glow_window_range(const glow_window_axis *a, int64_t out, int64_t low,
                  int64_t high)
{
    int64_t base = out * a->stride - a->start;
    glow_taps t = {base, reach(low - base, a->dilation),
                   reach(high - base, a->dilation)};

    if (t.last > a->kernel)
        t.last = a->kernel;
    if (t.first > t.last)
        t.first = t.last;
    return t;
}

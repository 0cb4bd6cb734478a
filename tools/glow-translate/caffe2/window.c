/*
 * Windows: convolution and pooling.
 *
 * Images are N C H W or N H W C, as argument `order` says, and so are filters,
 * but see filter_is_last; Glow has channels last.  Sizes are given for all axes at once (`kernel`), in
 * a list (`kernels`), or for two axes by name (`kernel_h`, `kernel_w`).
 */

#include <inttypes.h>

#include "tools/glow-translate/caffe2/caffe2.h"

enum { NOTSET, VALID, SAME, CAFFE_POOLING };

static bool
image_of(import_node *n, const glow_value *x, caffe2_window *out)
{
    glow_dims shape = import_shape(x);

    *out = (caffe2_window){.last = caffe2_channels_last(n)};
    out->w.spatial = out->sizes.rank = shape.rank - 2;
    if (shape.rank < 3 || shape.rank > 5)
        return import_refuse(n, "E0711",
                             "an operand of rank %d; 3 to 5 are supported",
                             shape.rank);
    for (int i = 0; i < shape.rank - 2; i++)
        out->sizes.at[i] = shape.at[i + (out->last ? 1 : 2)];
    return !n->failed;
}

/* One number for each axis, in any of the three ways. */
static glow_dims
sizes(import_node *n, const char *name, int rank, int64_t otherwise,
      int64_t least)
{
    glow_arena *a = import_arena(n);
    int64_t all = import_int(n, name, otherwise, least, INT32_MAX);
    glow_dims d =
        import_dims(n, glow_arena_printf(a, "%ss", name), rank, all, least);

    if (rank != 2)
        return d;
    for (int i = 0; i < 2; i++)
        d.at[i] = import_int(n, glow_arena_printf(a, "%s_%c", name, "hw"[i]),
                             d.at[i], least, INT32_MAX);
    return d;
}

static glow_dims
pads(import_node *n, int rank)
{
    static const char *const sides[] = {"pad_t", "pad_l", "pad_b", "pad_r"};
    int64_t all = import_int(n, "pad", 0, 0, INT32_MAX);
    glow_dims d = import_dims(n, "pads", 2 * rank, all, 0);

    for (int i = 0; rank == 2 && i < 4; i++)
        d.at[i] = import_int(n, sides[i], d.at[i], 0, INT32_MAX);
    return d;
}

/*
 * Sets pads by legacy_pad: VALID (none), SAME (ceil(size / stride) results),
 * and Caffe's, which rounds the size of the result up.
 */
static void
legacy_pad(import_node *n, caffe2_window *x)
{
    int64_t mode = import_int(n, "legacy_pad", NOTSET, NOTSET, CAFFE_POOLING);
    int rank = x->w.spatial;

    for (int i = 0; i < rank && mode != NOTSET && !n->failed; i++) {
        int64_t size = x->sizes.at[i], stride = x->w.strides.at[i];
        int64_t reach = (x->w.kernels.at[i] - 1) *
                            (x->w.dilation.rank ? x->w.dilation.at[i] : 1) +
                        1;
        int64_t *head = &x->w.pads.at[i], *tail = &x->w.pads.at[rank + i];

        if (mode == CAFFE_POOLING) {
            int64_t room = size + 2 * *head - reach;
            int64_t up = (room + stride - 1) / stride + 1;

            /* The last window begins within the image. */
            if (*head > 0 && (up - 1) * stride >= size + *head)
                up--;
            *tail = *head;
            if (room >= 0)
                *tail += stride * (up - room / stride - 1);
            continue;
        }

        int64_t total =
            ((size + stride - 1) / stride - 1) * stride + reach - size;

        *head = mode == SAME && total > 0 ? total / 2 : 0;
        *tail = mode == SAME && total > 0 ? total - *head : 0;
    }
}

/* True if the axes of a filter from `at` on have the sizes of the kernel. */
static bool
fits(const import_window *w, glow_dims filter, int at)
{
    for (int i = 0; i < w->spatial; i++)
        if (w->kernels.at[i] && w->kernels.at[i] != filter.at[at + i])
            return false;
    return true;
}

/*
 * True if the filter's channels are last.  Nets with channels last should have
 * such filters, but some writers leave them in NCHW; the size of the kernel
 * decides, if it can.
 */
static bool
filter_is_last(const caffe2_window *x, glow_dims filter)
{
    return x->last && (fits(&x->w, filter, 1) || !fits(&x->w, filter, 2));
}

bool
caffe2_read_window(import_node *n, const glow_value *x,
                   const glow_value *filter, caffe2_window *out)
{
    if (!image_of(n, x, out))
        return false;

    import_window *w = &out->w;
    int rank = w->spatial;
    bool whole = !filter && import_flag(n, "global_pooling", false);

    w->kernels = sizes(n, "kernel", rank, 0, 0);
    w->strides = sizes(n, "stride", rank, 1, 1);
    w->dilation = sizes(n, "dilation", rank, 1, 1);
    w->pads = pads(n, rank);
    if (filter)
        out->filter_last = filter_is_last(out, filter->type->shape);
    for (int i = 0; i < rank && !n->failed; i++) {
        int at = i + (out->filter_last ? 1 : 2);
        int64_t known = filter  ? filter->type->shape.at[at]
                        : whole ? out->sizes.at[i]
                                : w->kernels.at[i];

        if (w->kernels.at[i] && w->kernels.at[i] != known)
            return import_refuse(n, "E0710",
                                 "the kernel is %" PRId64 " long, but %" PRId64
                                 " is due",
                                 w->kernels.at[i], known);
        if (known < 1)
            return import_refuse(n, "E0710", "the kernel's size is not given");
        w->kernels.at[i] = known;
    }
    legacy_pad(n, out);
    /* Dilations of 1 are the default. */
    w->dilation.rank = 0;
    for (int i = 0; i < rank; i++)
        if (w->dilation.at[i] != 1)
            w->dilation.rank = rank;
    return !n->failed;
}

glow_value *
caffe2_to_last(import_node *n, const caffe2_window *x, glow_value *v)
{
    return x->last ? v : import_to_nhwc(n, v);
}

glow_value *
caffe2_filter_to_last(import_node *n, const caffe2_window *x, glow_value *v)
{
    return x->filter_last ? v : import_to_nhwc(n, v);
}

glow_value *
caffe2_from_last(import_node *n, const caffe2_window *x, glow_value *v)
{
    return x->last ? v : import_to_nchw(n, v);
}

bool
caffe2_has_filter(import_node *n)
{
    int a = import_shape(n->in[0]).rank, b = import_shape(n->in[1]).rank;

    return a == b ||
           import_refuse(n, "E0711",
                         "the ranks of operand and weights are %d and %d", a,
                         b);
}

/* Conv, and ConvRelu, where the row has the second operator. */
static bool
convolution(import_node *n)
{
    int64_t group = import_int(n, "group", 1, 1, INT32_MAX);
    caffe2_window x;

    if (!import_operands(n, 2, 3) || !caffe2_has_filter(n) ||
        !caffe2_read_window(n, n->in[0], n->in[1], &x))
        return false;

    glow_value *in = caffe2_to_last(n, &x, n->in[0]);
    glow_value *filter = caffe2_filter_to_last(n, &x, n->in[1]);
    glow_value *y =
        BUILD(n, convolution, GLOW_IN(in, filter, import_in(n, 2)),
              .kernels = x.w.kernels, .strides = x.w.strides, .pads = x.w.pads,
              .group = group, .dilation = x.w.dilation);

    if (n->row->op)
        y = import_build(n, n->row->op, NULL, GLOW_IN(y), NULL);
    return import_done(n, caffe2_from_last(n, &x, y));
}

static bool
conv_transpose(import_node *n)
{
    int64_t group = import_int(n, "group", 1, 1, INT32_MAX);
    caffe2_window x;

    if (!import_operands(n, 2, 3) || !caffe2_has_filter(n) ||
        !caffe2_read_window(n, n->in[0], n->in[1], &x))
        return false;

    glow_dims more = sizes(n, "adj", x.w.spatial, 0, 0);
    bool any = false;

    for (int i = 0; i < x.w.spatial; i++)
        any |= more.at[i] != 0;
    more.rank = any ? x.w.spatial : 0;

    glow_value *in = caffe2_to_last(n, &x, n->in[0]);
    glow_value *filter = caffe2_filter_to_last(n, &x, n->in[1]);
    glow_value *y =
        BUILD(n, convtranspose, GLOW_IN(in, filter, import_in(n, 2)),
              .kernels = x.w.kernels, .strides = x.w.strides, .pads = x.w.pads,
              .group = group, .dilation = x.w.dilation, .output_padding = more);

    return import_done(n, caffe2_from_last(n, &x, y));
}

static bool
max_pool(import_node *n)
{
    caffe2_window x;

    if (!import_operands(n, 1, 1) || !caffe2_read_window(n, n->in[0], NULL, &x))
        return false;
    return import_done(
        n, caffe2_from_last(
               n, &x,
               BUILD(n, maxpool, GLOW_IN(caffe2_to_last(n, &x, n->in[0])),
                     .kernels = x.w.kernels, .strides = x.w.strides,
                     .pads = x.w.pads, .dilation = x.w.dilation)));
}

static bool
average_pool(import_node *n)
{
    bool counted = import_flag(n, "count_include_pad", false);
    caffe2_window x;

    if (!import_operands(n, 1, 1) || !caffe2_read_window(n, n->in[0], NULL, &x))
        return false;
    return import_done(
        n, caffe2_from_last(
               n, &x,
               BUILD(n, avgpool, GLOW_IN(caffe2_to_last(n, &x, n->in[0])),
                     .kernels = x.w.kernels, .strides = x.w.strides,
                     .pads = x.w.pads, .dilation = x.w.dilation,
                     .count_include_pads = counted)));
}

/* ResizeNearest of height and width. */
static bool
resize_nearest(import_node *n)
{
    caffe2_window x;
    float scale[] = {import_float(n, "height_scale", 1),
                     import_float(n, "width_scale", 1)};

    if (!import_operands(n, 1, 1) || !image_of(n, n->in[0], &x))
        return false;

    glow_value *v = caffe2_to_last(n, &x, n->in[0]);
    glow_dims shape = import_shape(v);
    float *scales = GLOW_NEW_ARRAY(import_arena(n), float, 4);

    if (shape.rank != 4)
        return import_refuse(n, "E0711", "an operand of rank %d, not 4",
                             shape.rank);
    scales[0] = scales[3] = 1;
    for (int i = 0; i < 2; i++) {
        double size = (double)shape.at[i + 1] * (double)scale[i];

        if (!(size >= 1 && size < INT32_MAX))
            return import_refuse(n, "E0710", "a scale is %g", (double)scale[i]);
        scales[i + 1] = scale[i];
        shape.at[i + 1] = (int64_t)size;
    }
    v = BUILD_STATED(n, resizenearest, import_type(n, v->type->elem, shape),
                     GLOW_IN(v), .scale = {4, scales},
                     .coordinates = GLOW_COORD_ASYMMETRIC,
                     .rounding = GLOW_ROUND_FLOOR);
    return import_done(n, caffe2_from_last(n, &x, v));
}

const import_row caffe2_window_rows[] = {
    {"AveragePool", 1, 0, average_pool, NULL, NULL},
    {"Conv", 1, 0, convolution, NULL, NULL},
    {"ConvRelu", 1, 0, convolution, &glow_op_relu, NULL},
    {"ConvTranspose", 1, 0, conv_transpose, NULL, NULL},
    {"MaxPool", 1, 0, max_pool, NULL, NULL},
    {"ResizeNearest", 1, 0, resize_nearest, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

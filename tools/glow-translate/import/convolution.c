/*
 * Convolution.  In Glow both images and filters have their channels last, so
 * the operand, the filter and the result are transposed; transposes of
 * constants are evaluated at once, and passes cancel pairs of the others.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

/* Windows of convolution and pooling. */

static const char *const auto_pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER",
                                        "VALID", NULL};
enum { NOTSET, SAME_UPPER, SAME_LOWER, VALID };

/* Sets the pads of one axis for SAME: ceil(size / stride) results. */
static void
pad_same(const glow_dims *x, import_window *w, int i, bool upper)
{
    int64_t size = x->at[i + 2], stride = w->strides.at[i];
    int64_t reach = (w->kernels.at[i] - 1) * w->dilation.at[i] + 1;
    int64_t count = (size + stride - 1) / stride;
    int64_t total = (count - 1) * stride + reach - size;

    if (total < 0)
        total = 0;
    w->pads.at[i] = upper ? total / 2 : total - total / 2;
    w->pads.at[w->spatial + i] = total - w->pads.at[i];
}

bool
import_read_window(import_node *n, const glow_value *x, const glow_dims *kernel,
                   import_window *w)
{
    glow_dims shape = import_shape(x);
    int spatial = shape.rank - 2;

    *w = (import_window){.spatial = spatial};
    if (spatial < 1 || spatial > 3)
        return import_refuse(n, "E0711",
                             "an operand of rank %d; 3 to 5 are supported",
                             shape.rank);
    if (kernel)
        for (int i = 0; i < spatial; i++)
            w->kernels.at[i] = kernel->at[i + 2];
    w->kernels.rank = spatial;
    if (import_has(n, "kernel_shape") || !kernel) {
        glow_dims given = import_dims(n, "kernel_shape", spatial, 0, 1);

        if (kernel && !n->failed && !glow_dims_equal(given, w->kernels))
            return import_refuse(n, "E0710",
                                 "kernel_shape is not that of the weights");
        w->kernels = given;
    }
    w->strides = import_dims(n, "strides", spatial, 1, 1);
    w->dilation = import_dims(n, "dilations", spatial, 1, 1);
    w->pads = import_dims(n, "pads", 2 * spatial, 0, 0);

    int how = import_word(n, "auto_pad", "NOTSET", auto_pads);

    if (how == VALID)
        w->pads = (glow_dims){.rank = 2 * spatial};
    for (int i = 0; i < spatial && (how == SAME_UPPER || how == SAME_LOWER);
         i++)
        pad_same(&shape, w, i, how == SAME_UPPER);
    /* Dilations of 1 are the default. */
    w->dilation.rank = 0;
    for (int i = 0; i < spatial; i++)
        if (w->dilation.at[i] != 1)
            w->dilation.rank = spatial;
    return !n->failed;
}

/* The window over operand 0 that the weights, operand 1, are for. */
static bool
read_weights_window(import_node *n, import_window *w)
{
    if (!import_operands(n, 2, 3))
        return false;

    glow_value *x = import_in(n, 0);
    glow_dims kernel = import_in(n, 1)->type->shape;

    if (kernel.rank != x->type->shape.rank)
        return import_refuse(n, "E0711",
                             "the ranks of operand and weights are %d and %d",
                             x->type->shape.rank, kernel.rank);
    return import_read_window(n, x, &kernel, w);
}

static bool
convolution(import_node *n)
{
    import_window w;
    int64_t group = import_int(n, "group", 1, 1, INT32_MAX);

    if (!read_weights_window(n, &w))
        return false;

    glow_value *x = import_in(n, 0), *filter = import_in(n, 1);
    x = import_to_nhwc(n, x);
    filter = import_to_nhwc(n, filter);
    x = BUILD(n, convolution, GLOW_IN(x, filter, import_in(n, 2)),
              .kernels = w.kernels, .strides = w.strides, .pads = w.pads,
              .group = group, .dilation = w.dilation);
    return import_done(n, import_to_nchw(n, x));
}

/* Transposed convolution. */

/*
 * Sets the pads for the stated output size; if it is larger than possible
 * without pads, adds rows at the end.
 */
static void
fit_output(const glow_dims *x, import_window *w, glow_dims *more, int i,
           int64_t size, bool upper)
{
    int64_t reach = (w->kernels.at[i] - 1) * w->dilation.at[i] + 1;
    int64_t total =
        w->strides.at[i] * (x->at[i + 2] - 1) + more->at[i] + reach - size;

    if (total < 0) {
        more->at[i] -= total;
        total = 0;
    }
    w->pads.at[i] = upper ? total / 2 : total - total / 2;
    w->pads.at[w->spatial + i] = total - w->pads.at[i];
}

static void
fit_outputs(import_node *n, const glow_dims *x, import_window *w,
            glow_dims *more)
{
    bool given = import_has(n, "output_shape");
    int how = import_word(n, "auto_pad", "NOTSET", auto_pads);
    glow_ints sizes = import_ints(n, "output_shape");

    if (!given && how != SAME_UPPER && how != SAME_LOWER)
        return;
    if (given && sizes.count != w->spatial && sizes.count != x->rank) {
        import_refuse(n, "E0710", "output_shape has %" PRId64 " entries",
                      sizes.count);
        return;
    }
    for (int i = 0; i < w->spatial; i++) {
        int64_t size = given ? sizes.at[sizes.count - w->spatial + i]
                             : x->at[i + 2] * w->strides.at[i];

        if (size < 1 || size > INT32_MAX) {
            import_refuse(n, "E0710", "output_shape[%d] is %" PRId64, i, size);
            return;
        }
        fit_output(x, w, more, i, size, how == SAME_UPPER);
    }
}

/*
 * Reads output_padding; models for Glow have one for both ends of an axis,
 * which has no meaning if output_shape is given.
 */
static glow_dims
read_output_padding(import_node *n, int spatial)
{
    if (import_has(n, "output_shape") &&
        import_ints(n, "output_padding").count == 2 * spatial)
        return (glow_dims){.rank = spatial};
    return import_dims(n, "output_padding", spatial, 0, 0);
}

static bool
conv_transpose(import_node *n)
{
    import_window w;
    int64_t group = import_int(n, "group", 1, 1, INT32_MAX);

    if (!read_weights_window(n, &w))
        return false;

    glow_value *x = import_in(n, 0), *filter = import_in(n, 1);

    glow_dims more = read_output_padding(n, w.spatial);

    fit_outputs(n, &x->type->shape, &w, &more);
    for (int i = 0, any = 0; i < w.spatial; i++) {
        any |= more.at[i] != 0;
        more.rank = any ? w.spatial : 0;
    }
    x = import_to_nhwc(n, x);
    filter = import_to_nhwc(n, filter);
    x = BUILD(n, convtranspose, GLOW_IN(x, filter, import_in(n, 2)),
              .kernels = w.kernels, .strides = w.strides, .pads = w.pads,
              .group = group, .dilation = w.dilation, .output_padding = more);
    return import_done(n, import_to_nchw(n, x));
}

const import_row import_convolution_rows[] = {
    {"Conv", 1, 0, convolution, &glow_op_convolution,
     "floats; 1 to 3 spatial axes"},
    {"ConvTranspose", 1, 0, conv_transpose, &glow_op_convtranspose,
     "floats; 1 to 3 spatial axes"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

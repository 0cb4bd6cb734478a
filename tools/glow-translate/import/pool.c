/*
 * Pooling, wrapped in transposes as convolution is.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

int64_t
import_window_reach(const import_window *w, int i, int64_t size)
{
    int64_t before = w->pads.at[i], after = w->pads.at[w->spatial + i];
    int64_t wide = w->dilation.rank ? w->dilation.at[i] : 1;
    int64_t reach = (w->kernels.at[i] - 1) * wide + 1;
    int64_t stride = w->strides.at[i], left = size + before + after - reach;
    int64_t last = (left / stride + 1) * stride; /* of an additional window */

    if (left < 0 || left % stride == 0 || last >= size + before)
        return after;
    return last + reach - size - before;
}

glow_value *
import_average_pool(import_node *n, glow_value *x, bool whole)
{
    import_window w;
    bool ceil_mode = import_flag(n, "ceil_mode", false);
    bool counted = import_flag(n, "count_include_pad", false);

    if (n->failed || !import_read_window(n, x, NULL, &w))
        return NULL;
    if (whole && counted && ceil_mode) {
        for (int i = 0; i < w.spatial; i++)
            w.pads.at[w.spatial + i] =
                import_window_reach(&w, i, x->type->shape.at[i + 2]);
        ceil_mode = false;
    }
    x = BUILD(n, avgpool, GLOW_IN(import_to_nhwc(n, x)), .kernels = w.kernels,
              .strides = w.strides, .pads = w.pads, .dilation = w.dilation,
              .ceil_mode = ceil_mode, .count_include_pads = counted);
    return import_to_nchw(n, x);
}

static bool
average_pool(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;
    return import_done(n, import_average_pool(n, import_in(n, 0), false));
}

/*
 * Positions of maxima.  Glow counts positions in N H W C, ONNX in N C H W:
 *
 *     glow = n HWC + hw C + c        onnx = n CHW + c HW + hw
 *
 * n and c are those of the result, so onnx = (glow - a) / C + b with a = n HWC
 * + c and b = n CHW + c HW, constants of shape N 1 1 C.
 */
static glow_value *
times(import_node *n, const glow_op *op, glow_value *v, int64_t by)
{
    return import_binary(
        n, op, v,
        import_constant_splat(n, GLOW_INDEX64, v->type->shape, (double)by, by));
}

/* Converts a position in a plane from row-major to column-major order. */
static glow_value *
by_columns(import_node *n, glow_value *at, glow_dims x)
{
    glow_value *rest = at, *sum = NULL;

    for (int i = x.rank - 1; i >= 2 && !n->failed; i--) {
        glow_value *next = times(n, &glow_op_div, rest, x.at[i]);
        glow_value *own = import_binary(n, &glow_op_sub, rest,
                                        times(n, &glow_op_mul, next, x.at[i]));
        int64_t step = 1;

        for (int k = 2; k < i; k++)
            step *= x.at[k];
        own = times(n, &glow_op_mul, own, step);
        sum = sum ? import_binary(n, &glow_op_add, sum, own) : own;
        rest = next;
    }
    return sum;
}

static glow_value *
argmax_positions(import_node *n, glow_value *argmax, glow_dims x, bool columns)
{
    int64_t batch = x.at[0], channels = x.at[1], area = 1;
    glow_dims shape = {.rank = x.rank};
    int64_t *a, *b;

    for (int i = 2; i < x.rank; i++)
        area *= x.at[i];
    for (int i = 0; i < x.rank; i++)
        shape.at[i] = i == 0 ? batch : i == x.rank - 1 ? channels : 1;
    a = GLOW_NEW_ARRAY(import_arena(n), int64_t, batch *channels);
    b = GLOW_NEW_ARRAY(import_arena(n), int64_t, batch *channels);
    for (int64_t i = 0; i < batch * channels; i++) {
        a[i] = i / channels * area * channels + i % channels;
        b[i] = i * area;
    }
    argmax = import_binary(n, &glow_op_sub, argmax,
                           import_constant_ints(n, shape, a));
    argmax = times(n, &glow_op_div, argmax, channels);
    if (columns)
        argmax = by_columns(n, argmax, x);
    return import_binary(n, &glow_op_add, argmax,
                         import_constant_ints(n, shape, b));
}

static bool
max_pool(import_node *n)
{
    import_window w;
    bool ceil_mode = import_flag(n, "ceil_mode", false);
    bool by_column = import_flag(n, "storage_order", false);

    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0), *y;
    glow_dims shape = x->type->shape;

    if (!import_read_window(n, x, NULL, &w))
        return false;
    x = import_to_nhwc(n, x);
    if (!import_wants(n, 1)) {
        y = BUILD(n, maxpool, GLOW_IN(x), .kernels = w.kernels,
                  .strides = w.strides, .pads = w.pads, .dilation = w.dilation,
                  .ceil_mode = ceil_mode);
        return import_done(n, import_to_nchw(n, y));
    }
    y = BUILD(n, maxpoolwithargmax, GLOW_IN(x), .kernels = w.kernels,
              .strides = w.strides, .pads = w.pads, .dilation = w.dilation,
              .ceil_mode = ceil_mode);
    if (n->failed)
        return false;

    glow_value *at = argmax_positions(
        n, import_convert(n, y->def->out[1], GLOW_INDEX64), shape, by_column);

    n->out[1] = import_to_nchw(n, at);
    return import_done(n, import_to_nchw(n, y));
}

/* Global pooling: the window is the image. */

static bool
read_whole(import_node *n, glow_value *x, import_window *w)
{
    int spatial = import_shape(x).rank - 2;

    *w = (import_window){.spatial = spatial};
    if (spatial < 1 || spatial > 3)
        return import_refuse(n, "E0711",
                             "an operand of rank %d; 3 to 5 are supported",
                             spatial + 2);
    w->kernels.rank = w->strides.rank = spatial;
    w->pads.rank = 2 * spatial;
    for (int i = 0; i < spatial; i++) {
        w->kernels.at[i] = x->type->shape.at[i + 2];
        w->strides.at[i] = 1;
    }
    return !n->failed;
}

static bool
global_average_pool(import_node *n)
{
    import_window w;
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1) || !read_whole(n, x, &w))
        return false;
    x = BUILD(n, avgpool, GLOW_IN(import_to_nhwc(n, x)), .kernels = w.kernels,
              .strides = w.strides, .pads = w.pads, .dilation = w.dilation);
    return import_done(n, import_to_nchw(n, x));
}

static bool
global_max_pool(import_node *n)
{
    import_window w;
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1) || !read_whole(n, x, &w))
        return false;
    x = BUILD(n, maxpool, GLOW_IN(import_to_nhwc(n, x)), .kernels = w.kernels,
              .strides = w.strides, .pads = w.pads, .dilation = w.dilation);
    return import_done(n, import_to_nchw(n, x));
}

const import_row import_pool_rows[] = {
    {"AveragePool", 1, 0, average_pool, &glow_op_avgpool,
     "floats; 1 to 3 spatial axes"},
    {"GlobalAveragePool", 1, 0, global_average_pool, &glow_op_avgpool,
     "floats; 1 to 3 spatial axes"},
    {"GlobalMaxPool", 1, 0, global_max_pool, &glow_op_maxpool,
     "numbers; 1 to 3 spatial axes"},
    {"MaxPool", 1, 0, max_pool, &glow_op_maxpool,
     "numbers; 1 to 3 spatial axes; MaxPoolWithArgmax where positions are "
     "asked for"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

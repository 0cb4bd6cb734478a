/* Import of operators on p-norms. */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

/* The p of old opsets was a float. */
static double
read_p(import_node *n, bool is_float)
{
    double p = is_float ? (double)import_float(n, "p", 2)
                        : (double)import_int(n, "p", 2, INT64_MIN, INT64_MAX);

    if (!n->failed && !(p > 0))
        import_refuse(n, "E0710", "p is %g, but must be greater than 0", p);
    return p;
}

/* |x|^p */
static glow_value *
power(import_node *n, glow_value *x, double p)
{
    if (n->failed || !x)
        return NULL;
    if (p == 2)
        return import_binary(n, &glow_op_mul, x, x);
    x = BUILD_PLAIN(n, abs, GLOW_IN(x));
    return p == 1 ? x : import_binary_number(n, &glow_op_pow, x, p);
}

static glow_value *
root(import_node *n, glow_value *x, double p)
{
    if (n->failed || !x || p == 1)
        return x;
    if (p == 2)
        return BUILD_PLAIN(n, sqrt, GLOW_IN(x));
    return import_binary_number(n, &glow_op_pow, x, 1 / p);
}

/* The p-norms along `axes`, which are kept with size 1. */
static glow_value *
norms(import_node *n, glow_value *x, glow_dims axes, double p)
{
    glow_dims shape = import_shape(x);

    for (int i = 0; i < axes.rank; i++)
        shape.at[axes.at[i]] = 1;
    x = power(n, x, p);
    if (n->failed)
        return NULL;
    x = BUILD(n, batchedreduceadd, GLOW_IN(x), .axes = axes);
    return import_reshape(n, root(n, x, p), shape);
}

/* LpNormalization; slices of norm 0 are divided by 1. */
static bool
lp_normalization(import_node *n)
{
    double p = read_p(n, false);
    glow_value *x = import_in(n, 0), *norm, *none;

    if (!import_operands(n, 1, 1))
        return false;

    int axis = import_axis_attr(n, -1, x->type->shape.rank);

    norm = norms(n, x, GLOW_DIMS_OF(axis), p);
    if (n->failed)
        return false;

    glow_value *zero = import_splat(n, x->type->elem, norm->type->shape, 0);
    glow_value *one = import_splat(n, x->type->elem, norm->type->shape, 1);

    none = import_binary(n, &glow_op_cmpeq, norm, zero);
    if (n->failed)
        return false;
    norm = BUILD_PLAIN(n, select, GLOW_IN(none, one, norm));
    return import_done(n, import_binary(n, &glow_op_div, x, norm));
}

static bool
global_lp_pool(import_node *n)
{
    double p = read_p(n, n->opset < 2);
    glow_value *x = import_in(n, 0);
    glow_dims axes = {0};

    if (!import_operands(n, 1, 1))
        return false;
    if (x->type->shape.rank < 3)
        return import_refuse(n, "E0711", "the operand has no image");
    for (int i = 2; i < x->type->shape.rank; i++)
        axes.at[axes.rank++] = i;
    return import_done(n, norms(n, x, axes, p));
}

/*
 * Pads the image with zeros, as far as the windows reach: they add nothing to a
 * sum of powers.  `x` has the channels last.
 */
static glow_value *
padded(import_node *n, glow_value *x, const import_window *w, bool ceil_mode)
{
    int rank = w->spatial + 2;
    int64_t *pads = GLOW_NEW_ARRAY(import_arena(n), int64_t, 2 * rank);
    bool any = false;

    for (int i = 0; i < 2 * rank; i++)
        pads[i] = 0;
    for (int i = 0; i < w->spatial; i++) {
        int64_t before = w->pads.at[i], after = w->pads.at[w->spatial + i];

        if (ceil_mode)
            after = import_window_reach(w, i, x->type->shape.at[i + 1]);
        pads[i + 1] = before;
        pads[rank + i + 1] = after;
        any |= before || after;
    }
    if (!any)
        return x;
    return BUILD(n, pad, GLOW_IN(x), .mode = GLOW_PAD_CONSTANT,
                 .pads = {.count = 2 * rank, .at = pads});
}

static bool
lp_pool(import_node *n)
{
    import_window w;
    double p = read_p(n, n->opset < 2), count = 1;
    bool ceil_mode = n->opset >= 18 && import_flag(n, "ceil_mode", false);
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1) || !import_read_window(n, x, NULL, &w))
        return false;
    x = power(n, import_to_nhwc(n, x), p);
    if (n->failed)
        return false;
    for (int i = 0; i < w.spatial; i++)
        count *= (double)w.kernels.at[i];
    x = BUILD(n, avgpool, GLOW_IN(padded(n, x, &w, ceil_mode)),
              .kernels = w.kernels, .strides = w.strides,
              .pads = {.rank = 2 * w.spatial}, .dilation = w.dilation,
              .count_include_pads = true);
    x = import_binary_number(n, &glow_op_mul, x, count);
    return import_done(n, import_to_nchw(n, root(n, x, p)));
}

const import_row import_lp_rows[] = {
    {"GlobalLpPool", 1, 0, global_lp_pool, NULL, "floats"},
    {"LpNormalization", 1, 0, lp_normalization, NULL, "floats"},
    {"LpPool", 1, 0, lp_pool, NULL,
     "floats; 1 to 3 spatial axes; an AvgPool of powers"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

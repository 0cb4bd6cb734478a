/*
 * Derivatives of convolutions and pools.
 *
 * ConvTranspose is the transpose of Convolution by the same filter, and takes it in
 * the same form; ConvolutionFilterGrad is the gradient by the filter.
 */

#include "ir/derivatives/common.h"

/* The window of a convolution from a large tensor to a small one. */
typedef struct window {
    glow_dims kernels, strides, pads, dilation;
    int64_t group;
} window;

static glow_dims
ones_if_none(glow_dims d, int count)
{
    if (d.rank == 0) {
        d.rank = count;
        for (int k = 0; k < count; k++)
            d.at[k] = 1;
    }
    return d;
}

/* From the first element under a window to past the last of all windows. */
static int64_t
extent(const window *w, glow_dims small, int k)
{
    return (small.at[k + 1] - 1) * w->strides.at[k] +
           (w->kernels.at[k] - 1) * w->dilation.at[k] + 1;
}

/*
 * Sets the pads after each axis, and what is left over behind the last window, so
 * that ConvTranspose makes the spatial axes of `large` of those of `small`.
 */
static glow_dims
fit(window *w, glow_dims small, glow_dims large)
{
    glow_dims left = {.rank = w->kernels.rank};

    for (int k = 0; k < left.rank; k++) {
        int64_t pads = extent(w, small, k) - w->pads.at[k] - large.at[k + 1];

        w->pads.at[left.rank + k] = pads > 0 ? pads : 0;
        left.at[k] = pads > 0 ? 0 : -pads;
    }
    return left;
}

/* `d` carried back to the tensor of shape `large` that `filter` was applied to. */
static glow_value *
to_input(glow_builder *b, window w, glow_value *d, glow_value *filter,
         glow_dims large)
{
    glow_dims left = fit(&w, d->type->shape, large);

    return GLOW_BUILD(b, convtranspose, GLOW_IN(d, filter, NULL),
                      .kernels = w.kernels, .strides = w.strides,
                      .pads = w.pads, .group = w.group, .dilation = w.dilation,
                      .output_padding = left);
}

/* The gradient by a filter from `large`, and `small` by the result. */
static glow_value *
to_filter(glow_builder *b, window w, glow_value *large, glow_value *small)
{
    return GLOW_BUILD(b, convolutionfiltergrad, GLOW_IN(large, small),
                      .kernels = w.kernels, .strides = w.strides,
                      .pads = w.pads, .group = w.group, .dilation = w.dilation);
}

/* `large` convolved, cut to `shape` where there are windows beyond it. */
static glow_value *
to_result(glow_builder *b, window w, glow_value *large, glow_value *filter,
          glow_dims shape)
{
    glow_value *d =
        GLOW_BUILD(b, convolution, GLOW_IN(large, filter, NULL),
                   .kernels = w.kernels, .strides = w.strides, .pads = w.pads,
                   .group = w.group, .dilation = w.dilation);

    if (!d || glow_dims_equal(d->type->shape, shape))
        return d;
    return glow_grad_slice(b, d, (glow_dims){.rank = shape.rank},
                           (glow_dims){.rank = 0}, shape);
}

static glow_value *
to_bias(glow_builder *b, glow_value *d)
{
    return glow_grad_sum(b, d, glow_grad_axes(0, d->type->shape.rank - 1));
}

static glow_value *
convolution_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_convolution *a = n->attrs;
    int count = a->kernels.rank;
    window w = {a->kernels, a->strides, a->pads,
                ones_if_none(a->dilation, count), a->group};

    return i == 0   ? to_input(b, w, d, n->in[1], n->in[0]->type->shape)
           : i == 1 ? to_filter(b, w, n->in[0], d)
                    : to_bias(b, d);
}
const glow_derivative glow_derivative_convolution = {
    .transpose = convolution_transpose,
};

/* With `d` as the filter: the gradients by Input and by Result of the convolution. */
static glow_value *
convolutionfiltergrad_transpose(glow_builder *b, glow_node *n, int i,
                                glow_value *d)
{
    const glow_convolution *a = n->attrs;
    window w = {a->kernels, a->strides, a->pads,
                ones_if_none(a->dilation, a->kernels.rank), a->group};

    return i == 0 ? to_input(b, w, n->in[1], d, n->in[0]->type->shape)
                  : to_result(b, w, n->in[0], d, n->in[1]->type->shape);
}
const glow_derivative glow_derivative_convolutionfiltergrad = {
    .transpose = convolutionfiltergrad_transpose,
};

/* The convolution that it is the transpose of, and its filter. */
static glow_value *
convtranspose_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_convtranspose *a = n->attrs;
    window w = {a->kernels, a->strides, a->pads,
                ones_if_none(a->dilation, a->kernels.rank), a->group};

    return i == 0   ? to_result(b, w, d, n->in[1], n->in[0]->type->shape)
           : i == 1 ? to_filter(b, w, d, n->in[0])
                    : to_bias(b, d);
}
const glow_derivative glow_derivative_convtranspose = {
    .transpose = convtranspose_transpose,
};

/* The number of elements that the window at `at` of a result counts. */
static int64_t
counted(const glow_avgpool *a, const window *w, glow_dims large, glow_dims at)
{
    int count = w->kernels.rank;
    int64_t all = 1;

    for (int k = 0; k < count; k++) {
        int64_t first = at.at[k] * w->strides.at[k] - w->pads.at[k], in = 0;
        int64_t low = a->count_include_pads ? -w->pads.at[k] : 0;
        int64_t high = large.at[k + 1] +
                       (a->count_include_pads ? w->pads.at[count + k] : 0);

        for (int64_t j = 0; j < w->kernels.at[k]; j++) {
            int64_t x = first + j * w->dilation.at[k];

            in += x >= low && x < high;
        }
        all *= in;
    }
    return all;
}

/* A tensor of the type of `d`: what each window of an AvgPool divides by. */
static glow_value *
divisors(glow_builder *b, const glow_avgpool *a, const window *w, glow_value *d,
         glow_dims large)
{
    glow_dims shape = d->type->shape, one = shape, places;
    glow_value *v;
    int64_t at = 0;

    places = (glow_dims){.rank = shape.rank - 2};
    for (int k = 0; k < places.rank; k++)
        places.at[k] = shape.at[k + 1];
    one.at[0] = one.at[one.rank - 1] = 1;
    v = glow_build_constant(b, "windows",
                            glow_type_get(glow_builder_context(b),
                                          glow_type_of(d->type->elem, one)));
    if (!v)
        return NULL;
    GLOW_FOR_EACH_INDEX(i, places)
        glow_set_double(&v->storage->tensor, at++,
                        (double)counted(a, w, large, i));
    return GLOW_BUILD(b, broadcast, GLOW_IN(v), .axis = 0, .target_dim = shape);
}

/* Each window's share, spread by a filter of ones for each channel. */
static glow_value *
avgpool_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    const glow_avgpool *a = n->attrs;
    glow_dims large = n->in[i]->type->shape, filter = {.rank = large.rank};
    int count = a->kernels.rank;
    int64_t channels = large.at[large.rank - 1];
    window w = {a->kernels, a->strides, a->pads,
                ones_if_none(a->dilation, count), channels};
    glow_value *ones;

    filter.at[0] = channels;
    for (int k = 0; k < count; k++)
        filter.at[k + 1] = w.kernels.at[k];
    filter.at[count + 1] = 1;
    ones = glow_build_splat(b, "ones",
                            glow_type_get(glow_builder_context(b),
                                          glow_type_of(d->type->elem, filter)),
                            1);
    d = glow_build_div(b, d, divisors(b, a, &w, d, large));
    return d ? to_input(b, w, d, ones, large) : NULL;
}
const glow_derivative glow_derivative_avgpool = {
    .transpose = avgpool_transpose,
};

/* `d` added to zeros of the shape `shape` at the positions `argmax`; -1: nowhere. */
static glow_value *
to_positions(glow_builder *b, glow_value *d, glow_value *argmax,
             glow_dims shape)
{
    int64_t count = glow_type_count(d->type);
    glow_value *none, *zeros;

    none = glow_grad_below(b, argmax, glow_grad_number(b, argmax, 0));
    d = glow_build_select(b, none, glow_grad_number(b, d, 0), d);
    zeros = glow_grad_zeros(b, d, GLOW_DIMS_OF(glow_dims_count(shape)));
    argmax = glow_build_reshape(b, argmax, GLOW_DIMS_OF(count, 1));
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(count));
    d = GLOW_BUILD(b, scatterdata, GLOW_IN(zeros, argmax, d),
                   .reduction = GLOW_SCATTER_ADD);
    return glow_build_reshape(b, d, shape);
}

/* To the first of the greatest elements of each window. */
static bool
maxpool_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_node *n = g->node;

    g->by_operand[0] = glow_build(b, &glow_op_maxpoolgrad, NULL,
                                  GLOW_IN(n->in[0], g->by_result[0]), n->attrs);
    return g->by_operand[0];
}
const glow_derivative glow_derivative_maxpool = {
    .gradient = maxpool_gradient,
};

/* The elements of `d` that are where those of ResultGrad were added. */
static glow_value *
maxpoolgrad_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    int64_t count = glow_type_count(n->in[1]->type);
    glow_value *found, *at, *none;

    if (i == 0)
        return NULL;
    found = glow_build(b, &glow_op_maxpoolwithargmax, NULL, n->in, 1, n->attrs);
    if (!found)
        return NULL;
    at = found->def->out[1];
    none = glow_grad_below(b, at, glow_grad_number(b, at, 0));
    at = glow_build_select(b, none, glow_grad_number(b, at, 0), at);
    at = glow_build_reshape(b, at, GLOW_DIMS_OF(count));
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(glow_type_count(d->type)));
    d = GLOW_BUILD(b, gather, GLOW_IN(d, at), .axis = 0);
    d = glow_build_reshape(b, d, n->in[1]->type->shape);
    return d ? glow_build_select(b, none, glow_grad_number(b, d, 0), d) : NULL;
}
const glow_derivative glow_derivative_maxpoolgrad = {
    .transpose = maxpoolgrad_transpose,
};

static bool
maxpoolwithargmax_gradient(glow_builder *b, const glow_gradient *g)
{
    glow_node *n = g->node;

    if (!g->by_result[0])
        return true;
    g->by_operand[0] =
        to_positions(b, g->by_result[0], n->out[1], n->in[0]->type->shape);
    return g->by_operand[0];
}
const glow_derivative glow_derivative_maxpoolwithargmax = {
    .gradient = maxpoolwithargmax_gradient,
};

/*
 * exchange-axes: put the spatial axes of one element before the long ones.
 *
 *     %y = Convolution(%x : [1, 400, 1, 8], @f : [16, 3, 1, 8])
 *              {Kernels: [3, 1], Strides: [2, 1], Pads: [1, 0, 1, 0]}
 *         =>
 *     %a = Reshape(%x) {Dims: [1, 1, 400, 8]}
 *     %g = Reshape(@f) {Dims: [16, 1, 3, 8]}
 *     %b = Convolution(%a, %g)
 *              {Kernels: [1, 3], Strides: [1, 2], Pads: [0, 1, 0, 1]}
 *     %y = Reshape(%b) {Dims: [1, 200, 1, 16]}
 *
 * An axis along which the input, the window and the result have one element can
 * be moved anywhere: the elements keep their order, and the sums are the same.
 *
 * Networks on sound and text have two spatial axes of which the second is 1,
 * and backends vectorize along the last axis.  The reshapes move no data;
 * between two windows they cancel (fold-reshape), and they sink below
 * element-wise operators (sink-reshape).  Afterwards no axis of one element is
 * the last spatial axis of a convolution, a transposed convolution or a pool,
 * unless all are of one element.
 */

#include "glow/build.h"
#include "glow/ops.h"
#include "glow/pass.h"

/*
 * Pointers to the attributes that have one or two numbers for each spatial
 * axis.
 */
typedef struct window {
    glow_dims *kernels, *strides, *pads, *dilation, *output_padding;
} window;

/* A permutation: the new spatial axis `i` is the present axis at[i]. */
typedef struct order {
    int at[GLOW_MAX_RANK];
    int count;
} order;

/* True if spatial axis `i` has one element throughout. */
static bool
is_single(const glow_node *n, const window *w, int i)
{
    int axes = w->kernels->rank;

    return n->in[0]->type->shape.at[1 + i] == 1 &&
           n->out[0]->type->shape.at[1 + i] == 1 && w->kernels->at[i] == 1 &&
           w->pads->at[i] == 0 && w->pads->at[axes + i] == 0 &&
           (!w->output_padding || w->output_padding->rank == 0 ||
            w->output_padding->at[i] == 0);
}

/* Finds the permutation; false if the last axis stays the last. */
static bool
find_order(const glow_node *n, const window *w, order *o)
{
    int axes = w->kernels->rank;

    o->count = 0;
    if (!is_single(n, w, axes - 1))
        return false;
    for (int single = 1; single >= 0; single--)
        for (int i = 0; i < axes; i++)
            if (is_single(n, w, i) == single)
                o->at[o->count++] = i;
    return !is_single(n, w, o->at[axes - 1]);
}

/* `d` with the permutation applied from its axis `first` on. */
static glow_dims
reorder(glow_dims d, int first, const order *o)
{
    glow_dims r = d;

    for (int i = 0; d.rank && i < o->count; i++)
        r.at[first + i] = d.at[first + o->at[i]];
    return r;
}

static glow_value *
reshape(glow_builder *b, glow_value *v, glow_dims shape)
{
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = shape);
}

/*
 * Builds the rewritten `n`; `attrs` is a copy of its attributes, and `w` points
 * into it.
 */
static glow_value *
exchange(glow_builder *b, glow_node *n, void *attrs, const window *w)
{
    glow_value *in[3] = {0}, *y;
    order o;

    if (n->pred || !find_order(n, w, &o))
        return NULL;
    *w->kernels = reorder(*w->kernels, 0, &o);
    *w->strides = reorder(*w->strides, 0, &o);
    *w->pads = reorder(reorder(*w->pads, 0, &o), o.count, &o);
    *w->dilation = reorder(*w->dilation, 0, &o);
    if (w->output_padding)
        *w->output_padding = reorder(*w->output_padding, 0, &o);
    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i];
    for (int i = 0; i < 2 && i < n->n_in; i++)
        in[i] = reshape(b, in[i], reorder(in[i]->type->shape, 1, &o));
    y = glow_build(b, n->op, NULL, in, n->n_in, attrs);
    return reshape(b, y, n->out[0]->type->shape);
}

/* The operators, with pointers to their attributes. */

static glow_value *
exchange_convolution(glow_builder *b, glow_node *n)
{
    glow_convolution c = *(const glow_convolution *)n->attrs;

    return exchange(b, n, &c,
                    &(window){&c.kernels, &c.strides, &c.pads, &c.dilation, 0});
}

static glow_value *
exchange_convtranspose(glow_builder *b, glow_node *n)
{
    glow_convtranspose c = *(const glow_convtranspose *)n->attrs;

    return exchange(b, n, &c,
                    &(window){&c.kernels, &c.strides, &c.pads, &c.dilation,
                              &c.output_padding});
}

static glow_value *
exchange_maxpool(glow_builder *b, glow_node *n)
{
    glow_maxpool p = *(const glow_maxpool *)n->attrs;

    return exchange(b, n, &p,
                    &(window){&p.kernels, &p.strides, &p.pads, &p.dilation, 0});
}

static glow_value *
exchange_avgpool(glow_builder *b, glow_node *n)
{
    glow_avgpool p = *(const glow_avgpool *)n->attrs;

    return exchange(b, n, &p,
                    &(window){&p.kernels, &p.strides, &p.pads, &p.dilation, 0});
}

static const glow_rewrite_row rows[] = {
    {&glow_op_avgpool, exchange_avgpool},
    {&glow_op_convolution, exchange_convolution},
    {&glow_op_convtranspose, exchange_convtranspose},
    {&glow_op_maxpool, exchange_maxpool},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_exchange_axes = {
    .name = "exchange-axes",
    .summary = "put spatial axes of one element before the long ones",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};

/*
 * simplify-pool: replace pools by simpler operators.
 *
 *     one tap, no pads      AvgPool, MaxPool {Kernels: [1, 1]}  =>  Slice by the
 *                           strides, or the operand if these are 1
 *     equal windows         AdaptiveAvgPool : [N, 3, 3, C] of [N, 6, 6, C]
 *                           =>  AvgPool {Kernels: [2, 2], Strides: [2, 2]}
 *     a global window, its  Reshape(AvgPool {Kernels: [7, 7]}(%x : [N, 7, 7, C]))
 *     axes dropped          =>  BatchedReduceMean(%x) {Axes: [1, 2]} : [N, C]
 *     its axes kept         Reshape(BatchedReduceMean(%x)) : [N, 1, 1, C]
 *                           =>  AvgPool {Kernels: [7, 7]}(%x)
 *
 * The last two are the heads of most classifiers, and their gates.  Glow
 * rewrites every such mean to an AvgPool between transposes, since its backends
 * have a kernel for that; in our backends both run at the same speed, and with
 * channels last neither needs transposes, so the form with one node is
 * preferred.  A mean with other users than the Reshape is left alone.
 *
 * Exporters write pools of one tap for models that were designed for larger
 * images.  The strides of a convolution with one tap stay: slicing first would
 * copy data that the convolution reads only once.
 *
 * Afterwards a pool has a window of more than one tap, or pads.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* Every `strides`-th element of the spatial axes of `n`'s operand. */
static glow_value *
pick(glow_builder *b, const glow_node *n, glow_dims strides)
{
    glow_value *x = n->in[0];
    glow_slice s = {.start.rank = x->type->shape.rank,
                    .steps.rank = x->type->shape.rank};

    if (glow_dims_are(strides, 1))
        return x->type == n->out[0]->type ? x : NULL;
    for (int i = 0; i < s.steps.rank; i++)
        s.steps.at[i] = i == 0 || i == s.steps.rank - 1 ? 1 : strides.at[i - 1];
    return glow_build(b, &glow_op_slice, n->out[0]->type, GLOW_IN(x), &s);
}

static glow_value *
of_avgpool(glow_builder *b, glow_node *n)
{
    const glow_avgpool *p = n->attrs;

    if (glow_computes_quantized(n)) /* the result may have another scale */
        return NULL;
    return glow_dims_are(p->kernels, 1) && glow_dims_are(p->pads, 0) &&
                   !p->ceil_mode
               ? pick(b, n, p->strides)
               : NULL;
}

static glow_value *
of_maxpool(glow_builder *b, glow_node *n)
{
    const glow_maxpool *p = n->attrs;

    return glow_dims_are(p->kernels, 1) && glow_dims_are(p->pads, 0) &&
                   !p->ceil_mode
               ? pick(b, n, p->strides)
               : NULL;
}

static glow_value *
of_adaptiveavgpool(glow_builder *b, glow_node *n)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    glow_avgpool p = {.pads.rank = 2 * (x.rank - 2)};

    if (n->in[0]->type == n->out[0]->type)
        return n->in[0];
    if (glow_computes_quantized(n)) /* a mean of its own arithmetic */
        return NULL;
    p.kernels.rank = p.strides.rank = x.rank - 2;
    for (int i = 0; i < p.kernels.rank; i++) {
        if (y.at[1 + i] == 0 || x.at[1 + i] % y.at[1 + i] != 0 ||
            x.at[1 + i] == 0)
            return NULL;
        p.kernels.at[i] = p.strides.at[i] = x.at[1 + i] / y.at[1 + i];
    }
    return glow_build(b, &glow_op_avgpool, NULL, GLOW_IN(n->in[0]), &p);
}

/* True if the pool `n` is a mean over all its spatial axes. */
static bool
is_global(const glow_node *n)
{
    const glow_avgpool *p = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    for (int i = 0; i < p->kernels.rank; i++)
        if (p->kernels.at[i] != x.at[1 + i] ||
            (p->dilation.rank && p->dilation.at[i] != 1))
            return false;
    return glow_dims_are(p->pads, 0) && !p->ceil_mode &&
           !glow_dims_are(p->kernels, 1);
}

/* All axes between the first and the last. */
static glow_dims
spatial_axes(glow_dims x)
{
    glow_dims axes = {0};

    for (int i = 1; i < x.rank - 1; i++)
        axes.at[axes.rank++] = i;
    return axes;
}

static glow_value *
mean_without_axes(glow_builder *b, const glow_node *pool, glow_dims y)
{
    glow_dims x = pool->in[0]->type->shape;

    if (!is_global(pool) ||
        !glow_dims_equal(y, GLOW_DIMS_OF(x.at[0], x.at[x.rank - 1])))
        return NULL;
    glow_builder_fuses(b, pool);

    glow_type type = *pool->out[0]->type;

    type.shape = y;
    type.strides = (glow_dims){0};
    return GLOW_BUILD_STATED(b, batchedreducemean,
                             glow_states_type(pool)
                                 ? glow_type_get(glow_builder_context(b), type)
                                 : NULL,
                             GLOW_IN(pool->in[0]), .axes = spatial_axes(x));
}

static glow_value *
mean_with_axes(glow_builder *b, const glow_node *mean, glow_dims y)
{
    const glow_batchedreducemean *r = mean->attrs;
    glow_dims x = mean->in[0]->type->shape, kept = x;
    glow_avgpool p = {.pads.rank = 2 * (x.rank - 2)};

    for (int i = 1; i < x.rank - 1; i++)
        kept.at[i] = 1;
    if (x.rank < 3 || x.rank > 5 || glow_dims_count(x) == 0 ||
        !glow_is_float(mean->in[0]->type->elem) || !glow_dims_equal(y, kept) ||
        !glow_dims_equal(r->axes, spatial_axes(x)))
        return NULL;
    p.kernels.rank = p.strides.rank = x.rank - 2;
    for (int i = 0; i < x.rank - 2; i++) {
        p.kernels.at[i] = x.at[1 + i];
        p.strides.at[i] = 1;
    }
    glow_builder_fuses(b, mean);
    return glow_build(b, &glow_op_avgpool, NULL, GLOW_IN(mean->in[0]), &p);
}

static glow_value *
of_reshape(glow_builder *b, glow_node *n)
{
    const glow_node *pool = glow_only_def(n->in[0], &glow_op_avgpool);
    const glow_node *mean = glow_only_def(n->in[0], &glow_op_batchedreducemean);
    glow_dims y = n->out[0]->type->shape;

    if (pool)
        return mean_without_axes(b, pool, y);
    return mean ? mean_with_axes(b, mean, y) : NULL;
}

static const glow_rewrite_row rows[] = {
    {&glow_op_adaptiveavgpool, of_adaptiveavgpool},
    {&glow_op_reshape, of_reshape}, /* of the result of of_adaptiveavgpool */
    {&glow_op_avgpool, of_avgpool}, /* the same */
    {&glow_op_maxpool, of_maxpool},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_simplify_pool = {
    .name = "simplify-pool",
    .summary = "replace pools by simpler operators",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .takes_quantized = true,
    .run = run,
    .source = "Glow OptimizeReduceMean, lower1x1AdaptiveAvgPool",
};

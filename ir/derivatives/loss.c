/*
 * Derivatives of losses.
 *
 * LogSoftMax and NegativeLogLikelihoodLoss together give SoftMax minus target, without
 * a logarithm of a probability.  Ignored targets get 0 by Select, so the quotient 0 / 0
 * of a batch of which all are ignored does not matter.
 */

#include "ir/derivatives/common.h"

#define GRADIENT(id)                               \
    const glow_derivative glow_derivative_##id = { \
        .gradient = id##_gradient,                 \
    }

/* An index64 tensor of `shape`, all of `v`. */
static glow_value *
index_number(glow_builder *b, glow_dims shape, int64_t v)
{
    glow_value *c = glow_build_constant(
        b, "number",
        glow_type_get(glow_builder_context(b),
                      glow_type_of(GLOW_INDEX64, (glow_dims){.rank = 0})));

    if (c)
        glow_set_int(&c->storage->tensor, 0, v);
    return glow_grad_repeat(b, c, glow_grad_axes(0, shape.rank), shape);
}

/* The class of each target; `classes` for an ignored one. */
static glow_value *
class_numbers(glow_builder *b, glow_value *target, int64_t classes,
              int64_t ignored)
{
    glow_dims shape = target->type->shape;
    glow_value *t = target, *is_ignored, *none;

    if (t->type->elem != GLOW_INDEX64)
        t = GLOW_BUILD_STATED_PLAIN(
            b, convertto,
            glow_type_get(glow_builder_context(b),
                          glow_type_of(GLOW_INDEX64, shape)),
            GLOW_IN(t));
    if (ignored == GLOW_IGNORE_NONE)
        return t;
    is_ignored = glow_grad_equal(b, t, index_number(b, shape, ignored));
    none = index_number(b, shape, classes);
    return glow_build_select(b, is_ignored, none, t);
}

static glow_dims
all_but_classes(int rank)
{
    glow_dims axes = {.rank = 0};

    for (int k = 0; k < rank; k++)
        if (k != 1)
            axes.at[axes.rank++] = k;
    return axes;
}

/* Bool, of the shape [N, C, ...] of `x`: true at the class of the target. */
static glow_value *
is_class(glow_builder *b, const glow_value *x, glow_value *target,
         int64_t ignored)
{
    glow_dims shape = x->type->shape, others = all_but_classes(shape.rank);
    int64_t classes = shape.at[1];
    glow_type list = glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(classes));
    glow_value *numbers = glow_build_constant(
        b, "classes", glow_type_get(glow_builder_context(b), list));

    for (int64_t i = 0; numbers && i < classes; i++)
        glow_set_int(&numbers->storage->tensor, i, i);
    target = class_numbers(b, target, classes, ignored);
    target = glow_grad_repeat(b, target, GLOW_DIMS_OF(1), shape);
    numbers = glow_grad_repeat(b, numbers, others, shape);
    return glow_grad_equal(b, target, numbers);
}

/* Of a NegativeLogLikelihoodLoss, all of the shape of Input. */
typedef struct likelihood {
    glow_value *is_class;
    glow_value *weight; /* of the class, or 1 */
    glow_value *by;     /* the gradient by -weight x at the class */
} likelihood;

static glow_value *
converted(glow_builder *b, glow_value *v, glow_kind kind)
{
    if (!v || v->type->elem == kind)
        return v;
    return GLOW_BUILD_STATED_PLAIN(
        b, convertto,
        glow_type_get(glow_builder_context(b),
                      glow_type_of(kind, v->type->shape)),
        GLOW_IN(v));
}

/* `d` divided by the sum of the weights that count, in float at least. */
static glow_value *
mean_share(glow_builder *b, const likelihood *l, glow_value *d)
{
    glow_kind kind = d->type->elem;
    glow_kind wide = kind == GLOW_FLOAT64 ? kind : GLOW_FLOAT;
    glow_value *sum;

    sum = converted(b, glow_grad_where(b, l->is_class, l->weight), wide);
    sum = glow_grad_sum(b, sum, glow_grad_axes(0, l->weight->type->shape.rank));
    return converted(b, glow_build_div(b, converted(b, d, wide), sum), kind);
}

static likelihood
likelihood_of(glow_builder *b, const glow_gradient *g)
{
    const glow_node *n = g->node;
    const glow_negativeloglikelihoodloss *a = n->attrs;
    glow_dims shape = n->in[0]->type->shape;
    glow_dims axes = glow_grad_axes(0, shape.rank);
    glow_value *d = g->by_result[0];
    likelihood l = {NULL, NULL, NULL};

    l.is_class = is_class(b, n->in[0], n->in[1], a->ignore_index);
    l.weight = glow_grad_number(b, n->in[0], 1);

    if (n->in[2])
        l.weight =
            glow_grad_repeat(b, n->in[2], all_but_classes(shape.rank), shape);
    if (a->reduction == GLOW_LOSS_MEAN)
        d = mean_share(b, &l, d);
    l.by = glow_grad_repeat(
        b, d, a->reduction == GLOW_LOSS_NONE ? GLOW_DIMS_OF(1) : axes, shape);
    return l;
}

/* -x by the class, less the mean that the weight is part of. */
static glow_value *
to_weight(glow_builder *b, const glow_node *n, const likelihood *l)
{
    const glow_negativeloglikelihoodloss *a = n->attrs;
    glow_dims shape = n->in[0]->type->shape;
    glow_value *v = glow_build_neg(b, n->in[0]);

    if (a->reduction == GLOW_LOSS_MEAN)
        v = glow_build_sub(b, v,
                           glow_grad_repeat(b, n->out[0],
                                            glow_grad_axes(0, shape.rank),
                                            shape));
    v = glow_grad_where(b, l->is_class, glow_build_mul(b, v, l->by));
    return glow_grad_sum(b, v, all_but_classes(shape.rank));
}

static bool
negativeloglikelihoodloss_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_node *n = g->node;
    glow_value *v;
    likelihood l;

    if (glow_type_count(n->in[0]->type) == 0)
        return true;
    l = likelihood_of(b, g);
    if (g->wanted[0]) {
        v = glow_build_neg(b, glow_build_mul(b, l.weight, l.by));
        g->by_operand[0] = glow_grad_where(b, l.is_class, v);
    }
    if (n->in[2] && g->wanted[2])
        g->by_operand[2] = to_weight(b, n, &l);
    return !glow_builder_failed(b);
}
GRADIENT(negativeloglikelihoodloss);

/* -d / p at the class, else 0. */
static bool
crossentropyloss_gradient(glow_builder *b, const glow_gradient *g)
{
    glow_value *p = g->node->in[0], *labels = g->node->in[1], *d;
    glow_dims shape = p->type->shape;

    if (glow_type_count(p->type) == 0)
        return true;
    labels = glow_build_reshape(b, labels, GLOW_DIMS_OF(shape.at[0]));
    d = glow_build_reshape(b, g->by_result[0], (glow_dims){.rank = 0});
    d = glow_grad_repeat(b, glow_build_neg(b, d), glow_grad_axes(0, 2), shape);
    d = glow_build_div(b, d, p);
    labels = is_class(b, p, labels, GLOW_IGNORE_NONE);
    g->by_operand[0] = glow_grad_where(b, labels, d);
    return g->by_operand[0];
}
GRADIENT(crossentropyloss);

/* By the logits the probability less the target, by the target minus the logits. */
static bool
sigmoidcrossentropywithlogits_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_node *n = g->node;
    glow_value *x = n->in[0], *d = g->by_result[0];
    glow_dims shape = x->type->shape;
    int last = shape.rank - 1;

    if (glow_type_count(x->type) == 0)
        return true;
    d = glow_build_div(b, d, glow_grad_number(b, d, (double)shape.at[last]));
    d = glow_grad_repeat(b, d, GLOW_DIMS_OF(last), shape);
    if (g->wanted[1])
        g->by_operand[1] = glow_build_neg(b, glow_build_mul(b, d, x));
    if (g->wanted[0]) {
        x = GLOW_BUILD_PLAIN(b, sigmoid, GLOW_IN(x));
        g->by_operand[0] = glow_build_mul(b, d, glow_build_sub(b, x, n->in[1]));
    }
    return !glow_builder_failed(b);
}
GRADIENT(sigmoidcrossentropywithlogits);

/*
 * The straight-through derivative of Dequantize(Quantize(x)) and of
 * DequantizeLinear(QuantizeLinear(x, s, z), s, z), pairs that round floats as a network
 * of integers will.
 *
 * The derivative of the rounding is 0 almost everywhere, and is taken as 1: the
 * gradient passes where the element is not saturated, x / scale within half a step of
 * the elements of the type, and is 0 elsewhere.  The operand of Dequantize stands for
 * that of Quantize.
 *
 * The scale s of a linear pair y has the derivative that follows from this: (y - x) / s
 * where the element is not saturated, and y / s elsewhere.
 *
 * Source: Bengio et al., arXiv:1308.3432; Jacob et al., arXiv:1712.05877; of scales:
 * Esser et al., arXiv:1902.08153.
 */

#include <math.h>

#include "glow/quantize.h"

#include "ir/derivatives/common.h"

/* The real where the rounding to element `q` of `t` begins or ends. */
static double
edge(const glow_type *t, int64_t q, double half)
{
    return ((double)(q - t->offset) + half) * (double)t->scale;
}

static bool
dequantize_gradient(glow_builder *b, const glow_gradient *g)
{
    const glow_node *quantize = g->node->in[0]->def;
    glow_value *x = quantize->in[0], *d = g->by_result[0];
    const glow_type *t = quantize->out[0]->type;
    glow_value *out =
        glow_grad_number(b, x, edge(t, glow_quantized_least(t->elem), -0.5));
    glow_value *most =
        glow_grad_number(b, x, edge(t, glow_quantized_most(t->elem), 0.5));

    if (d->type->elem != x->type->elem)
        d = GLOW_BUILD_STATED_PLAIN(b, convertto, x->type, GLOW_IN(d));
    out = glow_grad_below(b, x, out);
    most = glow_grad_below(b, most, x);
    out = GLOW_BUILD_PLAIN(b, or, GLOW_IN(out, most));
    d = glow_build_select(b, out, glow_grad_number(b, d, 0), d);
    g->by_operand[0] = d;
    return d != NULL;
}

const glow_derivative glow_derivative_dequantize = {
    .gradient = dequantize_gradient,
};

/* Linear pairs. */

enum { INPUT, SCALE, OFFSET };

/* The real that integer `q` stands for in each place of the result of `n`. */
static glow_value *
real_of(glow_builder *b, const glow_node *n, double q, glow_value *offset)
{
    const glow_dequantizelinear *a = n->attrs;
    glow_value *all = glow_grad_number(b, n->in[INPUT], q);

    return GLOW_BUILD_STATED(b, dequantizelinear, n->out[0]->type,
                             GLOW_IN(all, n->in[SCALE], offset),
                             .axis = a->axis, .block_size = a->block_size);
}

static glow_value *
convert(glow_builder *b, glow_value *v, const glow_value *like)
{
    return !v || v->type == like->type
               ? v
               : GLOW_BUILD_STATED_PLAIN(b, convertto, like->type, GLOW_IN(v));
}

/* Where `x` is saturated; `step` is the scale of each element. */
static glow_value *
saturated(glow_builder *b, const glow_node *n, glow_value *x, glow_value *step)
{
    const glow_kind_info *k = glow_kind_get(n->in[INPUT]->type->elem);
    double values = ldexp(1, k->bits), least = k->is_signed ? -values / 2 : 0;
    glow_value *half = glow_grad_times(b, 0.5, step);
    glow_value *low = real_of(b, n, least, n->in[OFFSET]);
    glow_value *high = real_of(b, n, least + values - 1, n->in[OFFSET]);

    low = glow_grad_below(b, x, glow_build_sub(b, low, half));
    high = glow_grad_below(b, glow_build_add(b, high, half), x);
    return GLOW_BUILD_PLAIN(b, or, GLOW_IN(low, high));
}

/* `d`, of each element, added up to the elements of the scale. */
static glow_value *
to_scale(glow_builder *b, const glow_node *n, glow_value *d)
{
    const glow_dequantizelinear *a = n->attrs;
    glow_dims shape = n->out[0]->type->shape, axes = {0};

    for (int i = 0; i < shape.rank; i++)
        if (n->in[SCALE]->type->shape.rank == 0 || i != a->axis)
            axes.at[axes.rank++] = i;
    return convert(b, glow_grad_sum(b, d, axes), n->in[SCALE]);
}

static bool
dequantizelinear_gradient(glow_builder *b, const glow_gradient *g)
{
    glow_node *n = g->node;
    glow_value *x = n->in[INPUT]->def->in[INPUT], *y = n->out[0];
    glow_value *d = g->by_result[0], *off;
    glow_value *now = convert(b, x, y), *step = real_of(b, n, 1, NULL), *out;

    out = saturated(b, n, now, step);
    if (g->wanted[INPUT])
        g->by_operand[INPUT] = convert(
            b, glow_build_select(b, out, glow_grad_number(b, d, 0), d), x);
    if (g->wanted[SCALE]) {
        off = glow_build_select(b, out, y, glow_build_sub(b, y, now));
        off = glow_build_div(b, off, step);
        g->by_operand[SCALE] = to_scale(b, n, glow_build_mul(b, d, off));
    }
    return out && (!g->wanted[INPUT] || g->by_operand[INPUT]) &&
           (!g->wanted[SCALE] || g->by_operand[SCALE]);
}

static const char *
dequantizelinear_refuses(const glow_node *n)
{
    const glow_dequantizelinear *a = n->attrs;

    if (a->block_size > 0)
        return "by blocks";
    return glow_is_int(n->in[INPUT]->type->elem) ? NULL : "of low precision";
}

const glow_derivative glow_derivative_dequantizelinear = {
    .gradient = dequantizelinear_gradient,
    .refuses = dequantizelinear_refuses,
};

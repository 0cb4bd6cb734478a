/*
 * The straight-through derivative of Dequantize(Quantize(x)), a pair that rounds floats
 * as a network of integers will.
 *
 * The derivative of the rounding is 0 almost everywhere, and is taken as 1: the
 * gradient passes where the element is not saturated, x / scale within half a step of
 * the elements of the type, and is 0 elsewhere.  The operand of Dequantize stands for
 * that of Quantize.
 *
 * Source: Bengio et al., arXiv:1308.3432; Jacob et al., arXiv:1712.05877.
 */

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
    d = glow_grad_select(b, out, glow_grad_number(b, d, 0), d);
    g->by_operand[0] = d;
    return d != NULL;
}

const glow_derivative glow_derivative_dequantize = {
    .gradient = dequantize_gradient,
};

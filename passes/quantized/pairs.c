/*
 * Pairs of a quantized operator and the node of floats that it stands for, by name.
 */

#include "glow/ops.h"
#include "passes/quantized/judge.h"

bool
glow_judge_is_product(const glow_node *n)
{
    return glow_is(n, &glow_op_convolution) ||
           glow_is(n, &glow_op_fullyconnected) || glow_is(n, &glow_op_matmul) ||
           glow_is(n, &glow_op_batchmatmul);
}

/* True if quantize-weights may change operands 0 and 1. */
bool
glow_judge_is_weighted(const glow_node *n)
{
    return glow_judge_is_product(n) || glow_is(n, &glow_op_convtranspose);
}

static bool
is_clamp(const glow_node *n)
{
    return (glow_is(n, &glow_op_relu) || glow_is(n, &glow_op_clip)) &&
           n->in[0]->def;
}

/*
 * Operand `i` of `after`, where it has another shape than operand `i` of `n` before the
 * pads of its own; NULL: neither has that shape.
 */
const glow_value *
glow_judge_operand(const glow_node *after, const glow_node *n, int i)
{
    const glow_value *v = after->in[i];
    glow_dims shape = n->in[i]->type->shape;

    while (glow_is(v->def, &glow_op_pad) &&
           !glow_dims_equal(v->type->shape, shape))
        v = v->def->in[0];
    return glow_dims_equal(v->type->shape, shape) ? v : NULL;
}

/* True if `after` may compute what the node of floats `n` does. */
static bool
may_stand_for(const glow_node *after, const glow_node *n)
{
    if (n->n_in > after->n_in || n->n_in > GLOW_MAX_OPERANDS)
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!n->in[i] != !after->in[i] ||
            (n->in[i] && !glow_judge_operand(after, n, i)))
            return false;
    return n->op == after->op || glow_judge_is_product(n);
}

static bool
find_base(pair *p)
{
    p->base = p->before;
    while (!may_stand_for(p->after, p->base)) {
        if (!is_clamp(p->base) || p->n_chain == MOST_CHAIN)
            return false;
        p->chain[p->n_chain++] = p->base;
        p->base = p->base->in[0]->def;
    }
    return true;
}

/* The quantized type of the value that node `d` shows as reals, or NULL. */
const glow_type *
glow_judge_shown_type(const glow_node *d)
{
    if (d->n_out != 1)
        return NULL;
    if (glow_is(d, &glow_op_dequantize))
        return d->in[0]->type;
    return glow_is_quantized(d->out[0]->type->elem) ? d->out[0]->type : NULL;
}

/* Adds the pair of `d`, a quantized operator or the Dequantize behind one. */
static void
add_pair(judge *j, const glow_node *d)
{
    const glow_node *q = glow_is(d, &glow_op_dequantize) ? d->in[0]->def : d;
    const glow_node *n = glow_find_node(j->before, d->name);
    pair *p;

    if (!n || n->n_out != 1 || !glow_is_float(n->out[0]->type->elem))
        return;
    glow_map_set(j->steps, d->name, (void *)glow_judge_shown_type(d));
    if (!q || q->n_out != 1 || !glow_computes_quantized(q) ||
        glow_is(q, &glow_op_quantize))
        return;
    p = GLOW_NEW(j->a, pair);
    *p = (pair){.after = q, .shown = d, .before = n, .next = j->pairs};
    if (!find_base(p))
        return;
    if (glow_judge_is_product(p->base) && glow_is_constant(p->base->in[1]))
        p->weights = glow_constant_tensor(p->base->in[1]->storage);
    j->pairs = p;
}

void
glow_judge_find_pairs(judge *j)
{
    GLOW_FOR_EACH_NODE(d, j->after) {
        if (glow_is(d, &glow_op_quantize))
            glow_map_set(j->steps, glow_judge_value_name(j, d->in[0]),
                         (void *)d->out[0]->type);
        if (glow_judge_shown_type(d))
            add_pair(j, d);
    }
}

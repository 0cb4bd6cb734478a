/* Cost of nodes: operations, and bytes read and written. */

#include "glow/cost.h"

#include "glow/ops.h"

glow_cost
glow_cost_add(glow_cost a, glow_cost b)
{
    return (glow_cost){glow_add_most(a.flops, b.flops),
                       glow_add_most(a.read, b.read),
                       glow_add_most(a.written, b.written),
                       glow_add_most(a.quantized, b.quantized)};
}

static int64_t
flops_of(const glow_node *n)
{
    int64_t count = 0;

    if (n->op->flops) {
        count = n->op->flops(n);
        return count < 0 ? INT64_MAX : count;
    }
    for (int i = 0; i < n->n_out && !(n->op->traits & GLOW_LAYOUT); i++)
        count = glow_add_most(count, glow_type_count(n->out[i]->type));
    return count;
}

static bool
is_quantized(glow_value *const *v, int count, int i)
{
    return i < count && v[i] && glow_is_quantized(v[i]->type->elem);
}

/*
 * True if the operations of `n` are on quantized elements: from these to these; or
 * products of them, whatever the operator makes of the sums.
 */
static bool
counts_as_quantized(const glow_node *n)
{
    return (is_quantized(n->in, n->n_in, 0) &&
            is_quantized(n->out, n->n_out, 0)) ||
           (n->op->flops && is_quantized(n->in, n->n_in, 1));
}

glow_cost
glow_node_cost(const glow_node *n)
{
    glow_cost c = {0};

    if (n->op->traits & GLOW_STRUCTURAL || n->op == &glow_op_splat)
        return c;
    c.flops = flops_of(n);
    c.quantized = counts_as_quantized(n) ? c.flops : 0;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            c.read = glow_add_most(c.read, glow_type_bytes(n->in[i]->type));
    for (int i = 0; i < n->n_out; i++)
        c.written = glow_add_most(c.written, glow_type_bytes(n->out[i]->type));
    return c;
}

glow_cost
glow_func_cost(const glow_func *f)
{
    glow_cost sum = {0};

    GLOW_FOR_EACH_NODE(n, f)
        sum = glow_cost_add(sum, glow_node_cost(n));
    return sum;
}

double
glow_cost_time(const glow_target *t, glow_cost c, int nodes)
{
    double computing = (double)c.flops / t->flops_per_second;
    double moving = ((double)c.read + (double)c.written) / t->bytes_per_second;

    return (computing > moving ? computing : moving) +
           nodes * t->seconds_per_node;
}

/* Cost of nodes: flops, and bytes read and written. */

#include "glow/cost.h"

#include "glow/ops.h"

glow_cost
glow_cost_add(glow_cost a, glow_cost b)
{
    return (glow_cost){glow_add_most(a.flops, b.flops),
                       glow_add_most(a.read, b.read),
                       glow_add_most(a.written, b.written)};
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

glow_cost
glow_node_cost(const glow_node *n)
{
    glow_cost c = {0};

    if (n->op->traits & GLOW_STRUCTURAL || n->op == &glow_op_splat)
        return c;
    c.flops = flops_of(n);
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

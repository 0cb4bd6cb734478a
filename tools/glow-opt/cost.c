/*
 * -cost: for each node its floating-point operations and the bytes that it
 * reads and writes, as if every operand came from memory once.
 */

#include "tools/glow-opt/opt.h"

typedef struct cost {
    int64_t flops;
    int64_t read;
    int64_t written;
} cost;

static int64_t
elements(const glow_node *n)
{
    int64_t count = 0;

    for (int i = 0; i < n->n_out; i++)
        count += glow_type_count(n->out[i]->type);
    return count;
}

static cost
cost_of(const glow_node *n)
{
    cost c = {0};

    if (n->op->traits & GLOW_STRUCTURAL)
        return c;
    c.flops = n->op->flops                  ? n->op->flops(n)
              : n->op->traits & GLOW_LAYOUT ? 0
                                            : elements(n);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            c.read += glow_type_bytes(n->in[i]->type);
    for (int i = 0; i < n->n_out; i++)
        c.written += glow_type_bytes(n->out[i]->type);
    return c;
}

static void
put_row(glow_buf *b, cost c, const char *name, const char *op)
{
    glow_buf_printf(b, "%16lld %14lld %14lld  %s%s%s\n", (long long)c.flops,
                    (long long)c.read, (long long)c.written, name,
                    *op ? " " : "", op);
}

static void
put_func(glow_buf *b, const glow_func *f)
{
    cost sum = {0};

    glow_buf_printf(b, "@%s\n%16s %14s %14s  node\n", f->name, "flops",
                    "bytes read", "bytes written");
    GLOW_FOR_EACH_NODE(n, f) {
        cost c = cost_of(n);

        if (n->op->traits & GLOW_STRUCTURAL)
            continue;
        sum.flops += c.flops;
        sum.read += c.read;
        sum.written += c.written;
        put_row(b, c, n->name, n->op->name);
    }
    put_row(b, sum, "total", "");
}

void
put_cost(glow_buf *b, glow_module *m)
{
    GLOW_FOR_EACH_FUNC(f, m)
        put_func(b, f);
}

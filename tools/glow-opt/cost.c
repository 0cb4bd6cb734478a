/*
 * -cost: for each node its operations, those of them that are on quantized
 * elements, the bytes that it reads and writes, as if every operand came from
 * memory once, and the time that the target takes for the longer of operations
 * and bytes.
 */

#include "tools/glow-opt/opt.h"

static void
put_row(glow_buf *b, glow_cost c, double seconds, const char *name,
        const char *op)
{
    glow_buf_printf(b, "%16lld %16lld %14lld %14lld %12.3f  %s%s%s\n",
                    (long long)c.flops, (long long)c.quantized,
                    (long long)c.read, (long long)c.written, seconds * 1e6,
                    name, *op ? " " : "", op);
}

static void
put_func(glow_buf *b, const glow_func *f, const glow_target *t)
{
    double seconds = 0;

    glow_buf_printf(b, "@%s\n%16s %16s %14s %14s %12s  node\n", f->name,
                    "operations", "on quantized", "bytes read", "bytes written",
                    "us");
    GLOW_FOR_EACH_NODE(n, f) {
        glow_cost c = glow_node_cost(n);
        double s = glow_cost_time(t, c, 1);

        if (n->op->traits & GLOW_STRUCTURAL)
            continue;
        seconds += s;
        put_row(b, c, s, n->name, n->op->name);
    }
    put_row(b, glow_func_cost(f), seconds, "total", "");
}

void
put_cost(glow_buf *b, glow_module *m, const glow_target *t)
{
    GLOW_FOR_EACH_FUNC(f, m)
        put_func(b, f, t);
}

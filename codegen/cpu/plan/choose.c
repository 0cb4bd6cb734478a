/* Lookup and listing of an instruction's choices: kernels with parameters. */

#include "codegen/cpu/plan/choose.h"

#include "codegen/cpu/layout.h"
#include "codegen/cpu/plan/kernels.h"

const char *
glow_cpu_key(glow_arena *a, const glow_node *n)
{
    glow_buf b = {.arena = a};

    glow_buf_puts(&b, n->op->name);
    glow_buf_attrs(&b, glow_op_schema(n->op), n->attrs, true);
    for (int i = 0; i < n->n_in; i++) {
        glow_buf_putc(&b, ' ');
        if (!n->in[i]) {
            glow_buf_putc(&b, '_');
            continue;
        }
        glow_buf_type(&b, n->in[i]->type);
        if (glow_cpu_is_whole_constant(n->in[i]))
            glow_buf_putc(&b, '!');
    }
    for (int i = 0; i < n->n_out; i++) {
        glow_buf_puts(&b, " > ");
        glow_buf_type(&b, n->out[i]->type);
    }
    return b.text;
}

const cpu_choice *
glow_cpu_tuned_choice(glow_arena *a, const cpu_target *t, const glow_node *n)
{
    return t->tuned ? glow_map_get(t->tuned, glow_cpu_key(a, n)) : NULL;
}

bool
glow_cpu_can_choose(const cpu_target *t, const glow_node *n,
                    const cpu_choice *c)
{
    cpu_target u = *t;

    u.choice = c;
    return glow_cpu_takes(c->kernel, &u, n);
}

void
glow_cpu_list_choices(const cpu_target *t, const glow_node *n, cpu_choices *to)
{
    const cpu_kernel *first = glow_cpu_find_kernel(t, n);

    to->count = 0;
    for (int i = 0; first && glow_cpu_kernels[i]; i++)
        if (glow_cpu_kernels[i]->choices && glow_cpu_kernels[i]->op == n->op)
            glow_cpu_kernels[i]->choices(t, n, to);
}

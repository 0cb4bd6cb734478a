/* Text of a step: the key by which equal steps share code. */

#include "codegen/cpu/plan/describe.h"

#include "codegen/cpu/kernels/kernel.h"

static void
describe_type(glow_buf *b, const glow_type *t, bool scales)
{
    glow_type plain = *t;

    plain.scale = 1;
    glow_buf_type(b, scales ? t : &plain);
}

static void
describe_node(glow_buf *b, const glow_node *n, bool scales)
{
    glow_buf_puts(b, n->op->name);
    glow_buf_attrs(b, glow_op_schema(n->op), n->attrs, true);
    for (int i = 0; i < n->n_in; i++) {
        glow_buf_putc(b, ' ');
        if (n->in[i])
            describe_type(b, n->in[i]->type, scales);
        else
            glow_buf_putc(b, '_');
    }
    for (int i = 0; i < n->n_out; i++) {
        glow_buf_puts(b, " > ");
        describe_type(b, n->out[i]->type, scales);
    }
    glow_buf_putc(b, ';');
}

void
glow_cpu_describe_node(glow_buf *b, const glow_node *n)
{
    describe_node(b, n, true);
}

/* The kinds of operands and results, for code that has sizes as parameters. */
static void
describe_kinds(glow_buf *b, const glow_node *n)
{
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const glow_value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];

        glow_buf_printf(b, " %s", v ? glow_kind_get(v->type->elem)->name : "_");
    }
    glow_buf_putc(b, ';');
}

static void
describe_access(glow_buf *b, const cpu_access *a)
{
    glow_buf_printf(b, " %d@%lld[", a->slot, (long long)a->at);
    glow_buf_dims(b, a->step);
    glow_buf_putc(b, ']');
}

const char *
glow_cpu_describe(glow_arena *a, const cpu_step *s)
{
    glow_buf b = {.arena = a};

    if (s->root) {
        glow_buf_printf(&b, "%s ", s->kernel->name);
        if (s->kernel->numbers)
            describe_kinds(&b, s->root);
        else
            describe_node(&b, s->root, !s->kernel->without_scales);
        for (int i = 0; i < s->root->n_in; i++)
            glow_buf_printf(&b, " %d", s->in[i]);
        for (int i = 0; i < s->root->n_out; i++)
            glow_buf_printf(&b, " >%d", s->out[i]);
        glow_buf_printf(&b, " *%d%s;", s->own_scratch,
                        s->packed >= 0 ? " packed" : "");
    }
    if (!s->root || !s->kernel->numbers)
        glow_buf_dims(&b, s->shape);
    for (int k = 0; k < s->n_items; k++) {
        glow_cpu_describe_node(&b, s->items[k].n);
        for (int i = 0; i < s->items[k].n_in; i++)
            describe_access(&b, &s->items[k].in[i]);
        describe_access(&b, &s->items[k].out);
    }
    if (s->target->choice)
        glow_buf_printf(&b, " =%s", glow_cpu_choice_text(a, s->target->choice));
    glow_buf_printf(&b, " /%d+%lld^%d", s->parts, (long long)s->part_scratch,
                    s->team);
    for (int i = 0; i < s->n_slots; i++)
        glow_buf_printf(&b, " %d%d%d%d%d", s->slots[i].written,
                        s->slots[i].dead, s->slots[i].linear,
                        s->slots[i].shared, s->slots[i].held != NULL);
    return b.text;
}

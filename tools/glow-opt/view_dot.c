/* -view=dot: graphs in Graphviz's language. */

#include <string.h>

#include "glow/text.h"
#include "tools/glow-opt/view.h"

static void
put_quoted(glow_buf *b, const char *text)
{
    glow_buf_putc(b, '"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            glow_buf_printf(b, "\\%c", *text);
        else if (*text == '\n')
            glow_buf_puts(b, "\\n");
        else
            glow_buf_putc(b, *text);
    glow_buf_putc(b, '"');
}

static const char *
color_of(const glow_op *op)
{
    static const char *const colors[][2] = {
        {"sum", "#3b82d6"},  {"map", "#2f9e5f"}, {"move", "#c98a1b"},
        {"call", "#9061d6"}, {"io", "#7d8894"},  {"odd", "#d4504e"},
        {"else", "#15a3a8"},
    };
    size_t i = 0;

    while (strcmp(colors[i][0], glow_op_family(op)) != 0)
        i++;
    return colors[i][1];
}

/* `"f %x"`, unique in the file: a node, or the storage `@x`. */
static void
put_id(glow_buf *b, glow_arena *a, const glow_func *f, const glow_value *v,
       const char *node)
{
    put_quoted(b, v && !v->def ? glow_arena_printf(a, "%s @%s", f->name,
                                                   v->storage->name)
                               : glow_arena_printf(a, "%s %%%s", f->name,
                                                   v ? v->def->name : node));
}

static void
put_node(glow_buf *b, glow_arena *a, const glow_node *n)
{
    glow_buf line = {.arena = a}, label = {.arena = a};

    glow_print_node(&line, n, NULL);
    glow_buf_printf(&label, "%s\n%%%s", n->op->name, n->name);
    for (int i = 0; i < n->n_in && !n->func->is_program; i++)
        if (n->in[i] && glow_is_constant(n->in[i]))
            glow_buf_printf(&label, "\n@%s %s", n->in[i]->storage->name,
                            view_type(a, n->in[i]->type));
    for (int i = 0; i < n->n_out; i++)
        glow_buf_printf(&label, "\n%s", view_type(a, n->out[i]->type));
    if (n->queue)
        glow_buf_printf(&label, "\nqueue %s", n->queue);
    glow_buf_puts(b, "  ");
    put_id(b, a, n->func, NULL, n->name);
    glow_buf_puts(b, " [label=");
    put_quoted(b, label.text);
    glow_buf_puts(b, ", tooltip=");
    put_quoted(b, line.text);
    glow_buf_printf(b, ", color=\"%s\"%s];\n", color_of(n->op),
                    n->func->is_program && glow_defines(n) ? ", style=dashed"
                                                           : "");
}

static void
put_edge(glow_buf *b, glow_arena *a, const glow_node *n, const glow_value *v,
         bool back, const char *more)
{
    if (!v || (glow_is_constant(v) && !v->def))
        return;
    glow_buf_puts(b, "  ");
    if (back)
        put_id(b, a, n->func, NULL, n->name);
    else
        put_id(b, a, n->func, v, NULL);
    glow_buf_puts(b, " -> ");
    if (back)
        put_id(b, a, n->func, v, NULL);
    else
        put_id(b, a, n->func, NULL, n->name);
    glow_buf_printf(b, "%s;\n", more);
}

static void
put_edges(glow_buf *b, glow_arena *a, const glow_node *n)
{
    bool saves = n->op == &glow_op_save;

    for (int i = 0; i < n->n_in; i++)
        put_edge(b, a, n, n->in[i], saves && i == 1, "");
    put_edge(b, a, n, n->pred, false, " [style=dotted]");
    put_edge(b, a, n, n->scratch, true, " [style=dotted]");
    for (int i = 0; i < n->n_out && !glow_defines(n); i++)
        put_edge(b, a, n, n->out[i], true,
                 n->op == &glow_op_dealloc ? " [style=dotted]" : "");
}

void
put_dot(glow_buf *b, glow_arena *a, glow_module *m)
{
    int cluster = 0;

    glow_buf_puts(b, "digraph module {\n  node [shape=box, "
                     "fontname=\"monospace\", fontsize=10];\n");
    GLOW_FOR_EACH_FUNC(f, m) {
        glow_buf_printf(b, "  subgraph cluster_%d {\n  label=", cluster++);
        put_quoted(b, glow_arena_printf(a, "@%s", f->name));
        glow_buf_puts(b, ";\n");
        GLOW_FOR_EACH_NODE(n, f)
            put_node(b, a, n);
        glow_buf_puts(b, "  }\n");
        GLOW_FOR_EACH_NODE(n, f)
            put_edges(b, a, n);
    }
    glow_buf_puts(b, "}\n");
}

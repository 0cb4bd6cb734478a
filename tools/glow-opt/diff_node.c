/* Differences of two nodes, operand by operand and field by field. */

#include <string.h>

#include "glow/text.h"
#include "tools/glow-opt/shot.h"

void
change_note(glow_arena *a, change_detail **list, const char *what,
            const char *before, const char *after)
{
    change_detail *x = GLOW_NEW(a, change_detail);

    *x = (change_detail){what, before, after, NULL};
    while (*list)
        list = &(*list)->next;
    *list = x;
}

static bool
same_value(const glow_value *x, const glow_value *y)
{
    if (!x || !y || !x->def != !y->def)
        return x == y;
    if (!x->def)
        return strcmp(x->storage->name, y->storage->name) == 0;
    return x->index == y->index && strcmp(x->def->name, y->def->name) == 0;
}

static const char *
value_text(glow_arena *a, const glow_value *v)
{
    glow_buf b = {.arena = a};

    glow_print_value(&b, v);
    return b.text;
}

/* "Input", "Inputs[2]" */
static const char *
operand_text(glow_arena *a, const glow_node *n, int i)
{
    int k = glow_operand_of(n, i), first, count;

    if (n->op->traits & GLOW_UNKNOWN)
        return glow_arena_printf(a, "operand %d", i);
    if (k != glow_op_variadic(n->op))
        return n->op->in[k].name;
    glow_operand_range(n, k, &first, &count);
    return glow_arena_printf(a, "%s[%d]", n->op->in[k].name, i - first);
}

static void
compare_operands(glow_arena *a, const glow_node *x, const glow_node *y,
                 change_detail **list)
{
    for (int i = 0; i < x->n_in || i < y->n_in; i++) {
        const glow_value *from = i < x->n_in ? x->in[i] : NULL;
        const glow_value *to = i < y->n_in ? y->in[i] : NULL;

        if (!same_value(from, to))
            change_note(a, list, operand_text(a, i < y->n_in ? y : x, i),
                        i < x->n_in ? value_text(a, from) : "none",
                        i < y->n_in ? value_text(a, to) : "none");
    }
    if (!same_value(x->pred, y->pred))
        change_note(a, list, "predicate",
                    x->pred ? value_text(a, x->pred) : "none",
                    y->pred ? value_text(a, y->pred) : "none");
    if (!same_value(x->scratch, y->scratch))
        change_note(a, list, "scratch",
                    x->scratch ? value_text(a, x->scratch) : "none",
                    y->scratch ? value_text(a, y->scratch) : "none");
    if (strcmp(x->queue ? x->queue : "", y->queue ? y->queue : "") != 0)
        change_note(a, list, "queue", x->queue ? x->queue : "none",
                    y->queue ? y->queue : "none");
}

static const char *
field_text(glow_arena *a, const glow_op *op, const glow_field *f,
           const void *attrs)
{
    /* a schema of this field alone: `{Shuffle: [0, 1]}` */
    glow_field *one = GLOW_NEW_ARRAY(a, glow_field, 2);
    glow_buf b = {.arena = a};
    const char *from;

    one[0] = *f;
    glow_buf_attrs(&b, (glow_schema){one, op->defaults}, attrs, true);
    from = b.text ? strstr(b.text, ": ") : NULL;
    return from ? glow_arena_strndup(a, from + 2, strlen(from) - 3) : "";
}

static void
compare_attrs(glow_arena *a, const glow_node *x, const glow_node *y,
              change_detail **list)
{
    glow_schema s = glow_op_schema(y->op);

    if (x->attrs == y->attrs || (y->op->traits & GLOW_UNKNOWN) ||
        glow_attrs_equal(s, x->attrs, y->attrs))
        return;
    for (int i = 0; i < glow_schema_count(s); i++) {
        const char *from = field_text(a, y->op, &s.fields[i], x->attrs);
        const char *to = field_text(a, y->op, &s.fields[i], y->attrs);
        char name[80];

        glow_field_text_name(&s.fields[i], name, sizeof name);
        if (strcmp(from, to) != 0)
            change_note(a, list, glow_arena_strdup(a, name), from, to);
    }
}

static const char *
place_text(glow_arena *a, const glow_place *p)
{
    return p ? glow_arena_printf(a, "$%s + %lld", p->region->name,
                                 (long long)p->offset)
             : "none";
}

static void
compare_results(glow_arena *a, const glow_node *x, const glow_node *y,
                change_detail **list)
{
    for (int i = 0; i < x->n_out && i < y->n_out; i++) {
        const glow_value *from = x->out[i], *to = y->out[i];
        char name[80];

        glow_op_result_name(y->op, i, name, sizeof name);

        const char *what = glow_arena_strdup(a, name);

        if (!glow_defines(y) && !same_value(from, to))
            change_note(a, list, what, value_text(a, from), value_text(a, to));
        else if (glow_defines(y) && from->type != to->type)
            change_note(a, list, what, glow_type_text(a, from->type),
                        glow_type_text(a, to->type));
    }

    const char *from = place_text(a, x->place), *to = place_text(a, y->place);

    if (strcmp(from, to) != 0)
        change_note(a, list, "place", from, to);
}

change_detail *
shot_compare_nodes(glow_arena *a, const glow_node *x, const glow_node *y)
{
    change_detail *list = NULL;

    if (strcmp(x->name, y->name) != 0)
        change_note(a, &list, "name", glow_arena_printf(a, "%%%s", x->name),
                    glow_arena_printf(a, "%%%s", y->name));
    if (x->op != y->op || x->n_out != y->n_out) {
        glow_buf was = {.arena = a};

        glow_print_node(&was, x, NULL);
        change_note(a, &list, "was", was.text, NULL);
    } else {
        compare_operands(a, x, y, &list);
        compare_attrs(a, x, y, &list);
        compare_results(a, x, y, &list);
    }
    return list;
}

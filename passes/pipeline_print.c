/* Printing of pipelines; the text is parsed back to the same pipeline. */

#include "passes/pipeline_parser.h"

#include <string.h>

/* Prints the value in the syntax of attributes, as in ` {Rows: 32}`. */
static void
print_value(glow_buf *b, const glow_field *f, const void *options)
{
    const glow_field one[] = {*f, {0}};
    glow_buf text = {0};

    glow_buf_attrs(&text, (glow_schema){one, NULL}, options, true);

    const char *colon = strchr(text.text, ':');
    size_t skip = (size_t)(colon - text.text) + 2;

    glow_buf_add(b, text.text + skip, text.len - skip - 1);
    glow_buf_free(&text);
}

static void
print_options(glow_buf *b, const glow_pass *p, const void *options)
{
    glow_schema s = glow_pass_schema(p);
    int count = glow_schema_count(s);
    const char *before = "<";

    for (int i = 0; i < count; i++) {
        const glow_field *f = &s.fields[i];

        if (glow_attrs_is_default(s, f, options))
            continue;
        glow_buf_printf(b, "%s%s=", before, f->name);
        print_value(b, f, options);
        before = ",";
    }
    if (*before == ',')
        glow_buf_putc(b, '>');
}

static bool
is_plain_name(const char *name)
{
    size_t n = 0;

    while (glow_pipeline_is_name_char(name[n]))
        n++;
    return n > 0 && name[n] == '\0';
}

static void
print_symbol(glow_buf *b, const char *name)
{
    if (is_plain_name(name)) {
        glow_buf_puts(b, name);
        return;
    }
    glow_buf_putc(b, '"');
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\')
            glow_buf_putc(b, '\\');
        glow_buf_putc(b, *c);
    }
    glow_buf_putc(b, '"');
}

static void
print_items(glow_buf *b, const glow_item *first)
{
    for (const glow_item *i = first; i; i = i->next) {
        if (i != first)
            glow_buf_putc(b, ',');
        if (i->kind == GLOW_ITEM_PASS) {
            glow_buf_puts(b, i->pass->name);
            print_options(b, i->pass, i->options);
            continue;
        }
        if (i->kind == GLOW_ITEM_FIXPOINT) {
            glow_buf_puts(b, "fixpoint");
            if (i->max != GLOW_FIXPOINT_MAX)
                glow_buf_printf(b, "<max=%d>", i->max);
        } else {
            glow_buf_putc(b, '@');
            print_symbol(b, i->func);
        }
        glow_buf_putc(b, '(');
        print_items(b, i->body);
        glow_buf_putc(b, ')');
    }
}

void
glow_pipeline_print(glow_buf *b, const glow_pipeline *p)
{
    print_items(b, p->items);
}

/* Appends the names of the origins of an item that the item around it lacks. */
static int
add_origins(const glow_origin *of, const glow_origin *around,
            const char **names, int count, int most)
{
    if (!of || of == around)
        return count;
    count = add_origins(of->outer, around, names, count, most);
    if (count < most)
        names[count++] = of->named->name;
    return count;
}

int
glow_pipeline_path(const glow_pipeline *p, const char **names, int most)
{
    const glow_origin *around = NULL;
    int count = 0;

    for (int i = 0; i < p->depth; i++) {
        const glow_item *item = p->within[i];

        count = add_origins(item->origin, around, names, count, most);
        if (count < most)
            names[count++] =
                item->kind == GLOW_ITEM_FIXPOINT ? "fixpoint" : item->func;
        around = item->origin;
    }
    if (p->at_work)
        count = add_origins(p->at_work->origin, around, names, count, most);
    return count;
}

double
glow_pipeline_processor_time(const glow_pipeline *p)
{
    return p->processor_time;
}

void
glow_pipeline_print_step(glow_buf *b, const glow_pipeline *p, const char *func)
{
    const glow_item *i = p->at_work;

    if (!i)
        return;
    if (func) {
        glow_buf_putc(b, '@');
        print_symbol(b, func);
        glow_buf_putc(b, '(');
    }
    glow_buf_puts(b, i->pass->name);
    print_options(b, i->pass, i->options);
    if (func)
        glow_buf_putc(b, ')');
}

/* -help, -help=NAME and -explain=ID. */

#include <stdio.h>
#include <string.h>

#include "tools/common/describe.h"
#include "tools/common/options.h"

#define FITS 24 /* options of a group that are shown one on a line */
#define WIDTH 78

static void
option_text(glow_buf *b, const tool_option *o)
{
    glow_buf_printf(b, "-%s", o->name);
    if (o->arg)
        glow_buf_printf(b, o->kind == TOOL_WORD ? "[=%s]" : "=%s", o->arg);
}

static void
print_option(const tool_option *o)
{
    glow_buf b = {0};

    option_text(&b, o);
    printf("  %-30s %s\n", b.text, o->help);
    glow_buf_free(&b);
}

static int
count_options(const tool_option *table)
{
    int n = 0;

    while (table[n].name)
        n++;
    return n;
}

/* All options of a group, wrapped, or a line each. */
static void
print_group(const tool_option *table, const char *group, bool whole)
{
    bool first = true;
    int column = 0;

    for (const tool_option *o = table; o->name; o++) {
        glow_buf b = {0};

        if (strcmp(o->group, group) != 0)
            continue;
        if (whole) {
            print_option(o);
            continue;
        }
        option_text(&b, o);
        if (first || column + 1 + (int)b.len > WIDTH) {
            if (!first)
                putchar('\n');
            column = printf("  %s", b.text);
        } else {
            column += printf(" %s", b.text);
        }
        first = false;
        glow_buf_free(&b);
    }
    if (!whole)
        putchar('\n');
}

static void
print_groups(const tool_option *table, bool whole)
{
    const char *group = "";

    for (const tool_option *o = table; o->name; o++)
        if (strcmp(o->group, group) != 0) {
            group = o->group;
            printf("%s:\n", group);
            print_group(table, group, whole);
        }
}

static int
print_help(const tool *t)
{
    const tool_spec *s = t->spec;
    bool whole = count_options(s->options) <= FITS;

    printf("usage: %s %s\n%s\n\n", s->name, s->usage, s->about);
    print_groups(s->options, whole);
    print_groups(tool_common_options, whole);
    printf("-help=NAME explains a group, option, pass, operator, backend or "
           "error.\n");
    return TOOL_DONE;
}

static bool
help_group(const tool_option *table, const char *name)
{
    for (const tool_option *o = table; o->name; o++)
        if (strcmp(o->group, name) == 0) {
            print_group(table, name, true);
            return true;
        }
    return false;
}

static bool
help_pipeline(glow_buf *b, const char *name)
{
    const glow_named_pipeline *p = glow_find_pipeline(name);

    if (p)
        describe_pipeline(b, p);
    return p != NULL;
}

static bool
help_item(tool *t, glow_buf *b, const char *name)
{
    const glow_pass *p = glow_find_pass(t->ctx, name);
    const glow_op *op = glow_find_op(t->ctx, name);
    const glow_diag_info *d = glow_diag_find(name);

    if (!op)
        op = glow_find_instr(t->ctx, name);
    const glow_backend *backend = glow_find_backend(t->ctx, name);

    if (backend)
        describe_backend(b, backend);
    else if (p)
        describe_pass(b, p);
    else if (op)
        describe_op(b, t->ctx, op);
    else if (d)
        describe_error(b, d);
    return backend || p || op || d || help_pipeline(b, name);
}

static int
unknown_topic(tool *t, const char *name)
{
    tool_list names = tool_pass_names(t);
    size_t n;
    const glow_op *const *ops = glow_all_ops(t->ctx, &n);
    const glow_named_pipeline *named = glow_all_pipelines();

    for (size_t i = 0; i < n; i++)
        tool_list_add(t, &names, ops[i]->name);
    for (size_t i = 0; named[i].name; i++)
        tool_list_add(t, &names, named[i].name);
    for (const tool_option *o = t->spec->options; o->name; o++) {
        tool_list_add(t, &names, o->name);
        tool_list_add(t, &names, o->group);
    }
    for (const glow_diag_info *d = glow_diag_all(); d->id; d++)
        tool_list_add(t, &names, d->id);
    return tool_unknown(t, "pass, operator, option or error", name, &names);
}

int
tool_help(tool *t, const char *name)
{
    const tool_option *o;
    glow_buf b = {0};

    if (*name == '\0')
        return print_help(t);
    while (*name == '-')
        name++;
    if (help_group(t->spec->options, name) ||
        help_group(tool_common_options, name))
        return TOOL_DONE;
    o = tool_find_option(t, name);
    if (o)
        print_option(o);
    if (o && !glow_find_backend(t->ctx, name))
        return TOOL_DONE;
    if (o)
        putchar('\n');
    if (!help_item(t, &b, name))
        return unknown_topic(t, name);
    fwrite(b.text, 1, b.len, stdout);
    glow_buf_free(&b);
    return TOOL_DONE;
}

int
tool_explain(tool *t, const char *id)
{
    const glow_diag_info *d = glow_diag_find(id);
    tool_list ids = {0};
    glow_buf b = {0};

    if (!d) {
        for (const glow_diag_info *i = glow_diag_all(); i->id; i++)
            tool_list_add(t, &ids, i->id);
        return tool_unknown(t, "error", id, &ids);
    }
    describe_error(&b, d);
    fwrite(b.text, 1, b.len, stdout);
    glow_buf_free(&b);
    return TOOL_DONE;
}

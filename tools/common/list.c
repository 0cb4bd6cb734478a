/* The options -list-passes, -list-ops and others. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/describe.h"

static bool
is(const char *format, const char *wanted)
{
    return strcmp(format, wanted) == 0;
}

static int
print_json(json_t *j)
{
    char *text = json_dumps(j, JSON_INDENT(2));

    puts(text);
    free(text);
    json_decref(j);
    return TOOL_DONE;
}

static int
print_buf(glow_buf *b)
{
    if (b->text)
        fwrite(b->text, 1, b->len, stdout);
    glow_buf_free(b);
    return TOOL_DONE;
}

static void
put_title(glow_buf *b, const char *title, const char *how)
{
    glow_buf_printf(b, "# %s\n\nPrinted by `glow-opt -list-%s=md`.\n", title,
                    how);
}

/* True for built-in items: documents omit plugins, lists show them. */
static bool
is_ours(const char *name)
{
    return !strchr(name, '.');
}

int
list_passes(tool *t, const char *format)
{
    size_t n;
    const glow_pass *const *passes = glow_all_passes(t->ctx, &n);
    const glow_named_pipeline *named = glow_all_pipelines();
    json_t *json = is(format, "json") ? json_array() : NULL;
    glow_buf b = {0};

    if (is(format, "md"))
        put_title(&b, "Passes", "passes");
    for (size_t i = 0; i < n; i++)
        if (json) {
            json_array_append_new(json, pass_json(passes[i]));
        } else if (!is(format, "md")) {
            glow_buf_printf(&b, "%-28s %s\n", passes[i]->name,
                            passes[i]->summary);
        } else if (is_ours(passes[i]->name)) {
            glow_buf_putc(&b, '\n');
            describe_pass(&b, passes[i]);
        }
    if (json)
        return print_json(json);
    if (is(format, "md"))
        glow_buf_puts(&b, "\n# Named pipelines\n");
    for (size_t i = 0; named[i].name; i++)
        if (is(format, "md")) {
            glow_buf_putc(&b, '\n');
            describe_pipeline(&b, &named[i]);
        } else {
            glow_buf_printf(&b, "%-28s %s\n", named[i].name, named[i].summary);
        }
    return print_buf(&b);
}

/* Appends the primitive operators, which every backend must implement. */
static void
put_primitives(glow_buf *b, const glow_op *const *ops, size_t n)
{
    const char *comma = "\n";
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += (ops[i]->traits & GLOW_PRIMITIVE) != 0;
    glow_buf_printf(b,
                    "\n## The primitive set\n\nEvery backend takes these %d; "
                    "`lower` expresses all others by them:\n",
                    count);
    for (size_t i = 0; i < n; i++)
        if (ops[i]->traits & GLOW_PRIMITIVE) {
            glow_buf_printf(b, "%s`%s`", comma, ops[i]->name);
            comma = ",\n";
        }
    glow_buf_puts(b, ".\n");
}

int
list_ops(tool *t, const char *format)
{
    size_t n;
    const glow_op *const *ops = glow_all_ops(t->ctx, &n);
    json_t *json = is(format, "json") ? json_array() : NULL;
    glow_buf b = {0};

    if (is(format, "md"))
        put_title(&b, "Operators", "ops");
    if (is(format, "md"))
        put_primitives(&b, ops, n);
    for (size_t i = 0; i < n; i++)
        if (json) {
            json_array_append_new(json, op_json(ops[i]));
        } else if (!is(format, "md")) {
            glow_buf_printf(&b, "%-28s %s\n", ops[i]->name, ops[i]->summary);
        } else if (is_ours(ops[i]->name)) {
            glow_buf_putc(&b, '\n');
            describe_op(&b, t->ctx, ops[i]);
        }
    return json ? print_json(json) : print_buf(&b);
}

int
list_errors(tool *t, const char *format)
{
    json_t *json = is(format, "json") ? json_array() : NULL;
    glow_buf b = {0};

    (void)t;
    if (is(format, "md"))
        put_title(&b, "Errors and warnings", "errors");
    for (const glow_diag_info *d = glow_diag_all(); d->id; d++)
        if (json) {
            json_array_append_new(json, json_pack("{s:s, s:s, s:s}", "id",
                                                  d->id, "summary", d->summary,
                                                  "explain", d->explain));
        } else if (is(format, "md")) {
            glow_buf_putc(&b, '\n');
            describe_error(&b, d);
        } else {
            glow_buf_printf(&b, "%s  %s\n", d->id, d->summary);
        }
    return json ? print_json(json) : print_buf(&b);
}

int
list_targets(tool *t, const char *format)
{
    size_t n;
    const glow_backend *const *all = glow_all_backends(t->ctx, &n);
    json_t *json = is(format, "json") ? json_array() : NULL;
    glow_buf b = {0};

    for (size_t i = 0; i < n; i++)
        if (json)
            json_array_append_new(json, backend_json(all[i]));
        else
            glow_buf_printf(&b, "%-28s %s\n", all[i]->name, all[i]->summary);
    return json ? print_json(json) : print_buf(&b);
}

/* "3 operators, 1 pass" */
static void
put_count(glow_buf *b, size_t n, const char *one, const char *many)
{
    if (n > 0)
        glow_buf_printf(b, "%s %zu %s", b->len > 0 ? "," : "", n,
                        n == 1 ? one : many);
}

static size_t
count_list(const void *list)
{
    const void *const *at = list;
    size_t n = 0;

    while (at && at[n])
        n++;
    return n;
}

static void
put_plugin(glow_buf *b, const glow_plugin *p)
{
    glow_buf what = {0};

    put_count(&what, count_list(p->ops), "operator", "operators");
    put_count(&what, count_list(p->passes), "pass", "passes");
    put_count(&what, count_list(p->backends), "backend", "backends");
    put_count(&what, count_list(p->kinds), "element kind", "element kinds");
    glow_buf_printf(b, "%-28s %s (%s):%s\n", p->name,
                    p->version ? p->version : "?",
                    p->licence ? p->licence : "no licence stated",
                    what.text ? what.text : " nothing");
    glow_buf_free(&what);
}

int
list_plugins(tool *t, const char *format)
{
    json_t *json = is(format, "json") ? json_array() : NULL;
    glow_buf b = {0};
    const glow_plugin *p;

    for (size_t i = 0; (p = glow_plugin_at(t->ctx, i)); i++)
        if (json)
            json_array_append_new(
                json, json_pack("{s:s, s:s?, s:s?, s:i, s:i, s:i, s:i}", "name",
                                p->name, "version", p->version, "licence",
                                p->licence, "ops", (int)count_list(p->ops),
                                "passes", (int)count_list(p->passes),
                                "backends", (int)count_list(p->backends),
                                "kinds", (int)count_list(p->kinds)));
        else
            put_plugin(&b, p);
    return json ? print_json(json) : print_buf(&b);
}

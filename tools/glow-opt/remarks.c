/*
 * -remarks=FILE: reasons of passes for rewrites, and of the backend for kernels, done
 * or missed.
 *
 *     missed  7 fold-scale @main %mul (Mul): the product has 2 users [Mul_3 in n.onnx]
 *
 * or, in a file that ends in .json, an array with an object on each line.  A
 * remark that is repeated in another round of a fixpoint is kept once.
 */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-opt/report.h"

/* Keeping. */

static void
put_loc(glow_buf *b, const glow_loc *l)
{
    for (int i = 0; i < l->n_parts; i++)
        put_loc(b, l->parts[i]);
    if (l->n_parts > 0)
        return;
    glow_buf_puts(b, b->len > 0 ? ", " : "");
    if (l->kind == GLOW_LOC_FILE)
        glow_buf_printf(b, "%s:%d:%d", l->text, l->line, l->column);
    else if (l->node)
        glow_buf_printf(b, "%s in %s", l->node, l->text);
    else
        glow_buf_puts(b, l->text);
}

static const char *
loc_text(glow_arena *a, const glow_loc *l)
{
    glow_buf b = {.arena = a};

    if (l)
        put_loc(&b, l);
    return b.text;
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    opt *o = user;

    (void)p, (void)m, (void)f;
    o->remarks->number = number;
    return true;
}

static void
keep(void *user, const glow_remark *r)
{
    opt *o = user;
    remark_list *l = o->remarks;
    glow_arena *a = o->tool.arena;
    const glow_node *n = r->node;
    const char *pass = r->pass ? r->pass->name : o->backend->name;
    const char *key =
        glow_arena_printf(a, "%s %s %s %d %s", pass, n ? n->func->name : "",
                          n ? n->name : "", r->done, r->text);

    if (glow_map_get(l->seen, key))
        return;
    glow_map_set(l->seen, key, l);
    l->items =
        glow_arena_grow(a, l->items, l->count, &l->cap, sizeof *l->items);
    l->items[l->count++] = (remark){
        .number = l->number,
        .pass = pass,
        .func = n ? glow_arena_strdup(a, n->func->name) : NULL,
        .node = n ? glow_arena_strdup(a, n->name) : NULL,
        .op = n ? glow_arena_strdup(a, n->op->name) : NULL,
        .loc = n ? loc_text(a, n->loc) : NULL,
        .text = glow_arena_strdup(a, r->text),
        .done = r->done,
    };
}

void
add_remarks(opt *o, instruments *list)
{
    if (!o->values.remarks && !o->values.report)
        return;
    if (!o->remarks) {
        o->remarks = GLOW_NEW(o->tool.arena, remark_list);
        o->remarks->seen = glow_map_new(o->tool.arena);
    }
    list->at[list->count++] =
        (glow_instrument){.user = o, .before = before, .remark = keep};
}

void
take_code_remarks(opt *o)
{
    o->code.remark = o->remarks ? keep : NULL;
    o->code.remark_user = o;
}

/* Writing. */

static bool
is_wanted(const opt *o, const remark *r)
{
    const tool_list *filter = &o->values.remarks_filter;

    return filter->count == 0 || list_has(filter, r->pass);
}

static void
put_text(glow_buf *b, const remark *r)
{
    glow_buf_printf(b, "%-6s %3d %s", r->done ? "done" : "missed", r->number,
                    r->pass);
    if (r->node)
        glow_buf_printf(b, " @%s %%%s (%s)", r->func, r->node, r->op);
    glow_buf_printf(b, ": %s", r->text);
    if (r->loc)
        glow_buf_printf(b, " [%s]", r->loc);
    glow_buf_putc(b, '\n');
}

static void
put_json(glow_buf *b, const remark *r)
{
    json_t *j = json_pack("{s:b, s:i, s:s, s:s?, s:s?, s:s?, s:s?, s:s}",
                          "done", r->done, "run", r->number, "pass", r->pass,
                          "function", r->func, "node", r->node, "op", r->op,
                          "location", r->loc, "text", r->text);
    char *text = json_dumps(j, JSON_COMPACT);

    glow_buf_puts(b, b->len > 1 ? ",\n" : "\n");
    glow_buf_puts(b, text ? text : "null"); /* a name that is not UTF-8 */
    free(text);
    json_decref(j);
}

bool
write_remarks(opt *o)
{
    const char *path = o->values.remarks;
    size_t length = path ? strlen(path) : 0;
    bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    glow_buf b = {0};

    if (!path)
        return true;
    if (json)
        glow_buf_putc(&b, '[');
    for (size_t i = 0; o->remarks && i < o->remarks->count; i++) {
        const remark *r = &o->remarks->items[i];

        if (!is_wanted(o, r))
            continue;
        if (json)
            put_json(&b, r);
        else
            put_text(&b, r);
    }
    if (json)
        glow_buf_puts(&b, "\n]\n");

    bool ok = glow_file_write(o->tool.ctx, path, b.text ? b.text : "", b.len);

    glow_buf_free(&b);
    return ok;
}

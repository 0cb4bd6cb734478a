/* The `locations` section: provenance. */

#include <string.h>

#include "ir/text/resolve.h"

enum { MOST_PARTS = 64 };

static const glow_loc *make(text_resolver *r, const text_call *c);

static const glow_loc *
wrong(text_resolver *r, const text_call *c, const char *form)
{
    glow_text_error(r->p, c->span, "E0135", "write %s", form);
    return NULL;
}

/* The text of argument `n`, if it is a string without NUL; or NULL. */
static const char *
string_at(const text_call *c, size_t n)
{
    const text_arg *a = c->args.first;

    while (a && n-- > 0)
        a = a->next;
    if (!a || a->kind != TEXT_ARG_VALUE || a->value->kind != GLOW_V_STRING ||
        strlen(a->value->name.text) != a->value->size)
        return NULL;
    return a->value->name.text;
}

static const glow_loc *
make_file(text_resolver *r, const text_call *c, glow_loc *l)
{
    const text_arg *line = c->args.first ? c->args.first->next : NULL;
    const text_arg *column = line ? line->next : NULL;
    int64_t at[2];

    if (!l->text || !column || column->next || line->kind != TEXT_ARG_VALUE ||
        line->value->kind != GLOW_V_INT || column->kind != TEXT_ARG_VALUE ||
        column->value->kind != GLOW_V_INT)
        return wrong(r, c, "file(\"name\", line, column)");
    if (!glow_text_size(r->p, line->value->number, &at[0]) ||
        !glow_text_size(r->p, column->value->number, &at[1]))
        return NULL;
    if (at[0] > INT32_MAX || at[1] > INT32_MAX)
        return wrong(r, c, "a line and a column of at most 31 bits");
    l->line = (int)at[0];
    l->column = (int)at[1];
    return l;
}

/* fused("pass", loc, ...), derived("pass", loc) */
static const glow_loc *
make_parts(text_resolver *r, const text_call *c, glow_loc *l)
{
    const glow_loc *parts[MOST_PARTS];
    const text_arg *a = c->args.first ? c->args.first->next : NULL;
    bool is_fused = l->kind == GLOW_LOC_FUSED;

    for (; l->text && a && a->kind == TEXT_ARG_CALL; a = a->next) {
        if (l->n_parts == (is_fused ? MOST_PARTS : 1))
            break;
        parts[l->n_parts] = make(r, a->call);
        if (!parts[l->n_parts++])
            return NULL;
    }
    if (!l->text || a || l->n_parts == 0)
        return wrong(r, c,
                     is_fused ? "fused(\"pass\", location, ...)"
                              : "derived(\"pass\", location)");
    l->parts =
        glow_arena_copy(r->m->arena, parts, (size_t)l->n_parts * sizeof *parts);
    return l;
}

static const glow_loc *
make_model(text_resolver *r, const text_call *c, glow_loc *l)
{
    const char *node = string_at(c, 1);

    if (!l->text || !node || c->args.count != 2)
        return wrong(r, c,
                     l->kind == GLOW_LOC_ONNX ? "onnx(\"file\", \"node\")"
                                              : "caffe2(\"file\", \"node\")");
    l->node = glow_arena_strdup(r->m->arena, node);
    return l;
}

static const glow_loc *
make_name(text_resolver *r, const text_call *c, glow_loc *l)
{
    return l->text && c->args.count == 1 ? l : wrong(r, c, "name(\"text\")");
}

static const struct {
    const char *word;
    glow_loc_kind kind;
    const glow_loc *(*make)(text_resolver *r, const text_call *c, glow_loc *l);
} forms[] = {
    {"file", GLOW_LOC_FILE, make_file},
    {"onnx", GLOW_LOC_ONNX, make_model},
    {"caffe2", GLOW_LOC_CAFFE2, make_model},
    {"name", GLOW_LOC_NAME, make_name},
    {"fused", GLOW_LOC_FUSED, make_parts},
    {"derived", GLOW_LOC_DERIVED, make_parts},
};

static const glow_loc *
make(text_resolver *r, const text_call *c)
{
    const char *words[sizeof forms / sizeof *forms];
    const char *text = string_at(c, 0);

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        words[i] = forms[i].word;
        if (strcmp(c->word.text, forms[i].word) == 0) {
            glow_loc *l = GLOW_NEW(r->m->arena, glow_loc);

            l->kind = forms[i].kind;
            l->text = text ? glow_arena_strdup(r->m->arena, text) : NULL;
            return forms[i].make(r, c, l);
        }
    }
    glow_text_error_hint(r->p, c->word.span, "E0135",
                         glow_text_suggest(r->p, c->word.text, words,
                                           sizeof forms / sizeof *forms),
                         "no location is called `%s`", c->word.text);
    return NULL;
}

/* The `loc` field of the symbol or node `t`; NULL if there is none. */
static const glow_loc **
target(text_resolver *r, const text_location *t, bool *is_known)
{
    text_item *i =
        glow_map_get(t->value.text ? r->funcs : r->storage, t->symbol.text);
    text_node *n;

    *is_known = i != NULL;
    if (!i || !t->value.text)
        return i && i->made ? &i->made->loc : NULL;
    n = i->nodes_by_name ? glow_map_get(i->nodes_by_name, t->value.text) : NULL;
    *is_known = n || !i->func;
    return n && n->node ? &n->node->loc : NULL;
}

void
glow_text_resolve_locations(text_resolver *r, text_item *i)
{
    for (const text_location *t = i->locations.first; t; t = t->next) {
        const glow_loc *l = make(r, t->call);
        bool is_known;
        const glow_loc **where = target(r, t, &is_known);

        if (where && *where)
            glow_text_error(r->p, t->symbol.span, "E0109",
                            "the location of this is given twice");
        else if (where && l)
            *where = l;
        else if (!is_known)
            glow_text_error(
                r->p, t->value.text ? t->value.span : t->symbol.span, "E0110",
                "nothing is called @%s%s%s", t->symbol.text,
                t->value.text ? " %" : "", t->value.text ? t->value.text : "");
    }
}

/*
 * Parser of the text of pipelines, by recursive descent.
 *
 *     pipeline = [ item { "," item } ]
 *     item     = NAME [ options ]
 *              | "fixpoint" [ "<" "max" "=" INT ">" ] "(" pipeline ")"
 *              | "@" NAME "(" pipeline ")"
 *     options  = "<" option { "," option } ">"
 *     option   = NAME [ "=" value ]
 *     value    = NUMBER | NAME | STRING | "[" [ value { "," value } ] "]"
 *
 * NAME is a pass or a named pipeline, which is expanded.  An option without a
 * value is a flag that is set.
 */

#include "passes/pipeline_parser.h"

#include <string.h>

#include "glow/backend.h"
#include "glow/file.h"

static glow_item *parse_items(pipeline_parser *p, bool *ok);

/* Names of functions may be quoted. */
static const char *
parse_symbol(pipeline_parser *p)
{
    size_t size;

    if (glow_pipeline_peek(p) == '"')
        return glow_pipeline_string(p, &size);

    const char *word = glow_pipeline_word(p);

    if (!word)
        glow_pipeline_expected(p, "the name of a function");
    return word;
}

/* Names. */

static const char *
suggest_item(pipeline_parser *p, const char *wrong)
{
    size_t n;
    size_t count = 0;
    const glow_pass *const *passes = glow_all_passes(p->ctx, &n);
    const glow_named_pipeline *named = glow_all_pipelines();

    for (size_t i = 0; named[i].name; i++)
        n++;

    const char **names = GLOW_NEW_ARRAY(p->arena, const char *, n + 1);

    names[count++] = "fixpoint";
    for (size_t i = 0; named[i].name; i++)
        names[count++] = named[i].name;
    for (size_t i = 0; count <= n; i++)
        names[count++] = passes[i]->name;
    return glow_did_you_mean(wrong, names, count);
}

static bool
unknown_item(pipeline_parser *p, const char *name, glow_span at)
{
    const char *near = suggest_item(p, name);

    if (near)
        return glow_error_hint(
            p->ctx, at, "E0403",
            glow_arena_printf(p->arena, "did you mean '%s'?", near),
            "there is no pass or pipeline '%s'", name);
    return glow_error_hint(p->ctx, at, "E0403",
                           "glow-opt -list-passes shows what there is",
                           "there is no pass or pipeline '%s'", name);
}

/* Items. */

static glow_item *
new_item(pipeline_parser *p, glow_item_kind kind, uint32_t begin)
{
    glow_item *i = GLOW_NEW(p->arena, glow_item);

    i->kind = kind;
    i->span = p->named ? p->use : glow_pipeline_span(p, begin);
    i->origin = p->origin;
    return i;
}

/* The options of `who`, from `<` on if it is there.  NULL after a report, or if
   there are none: then `ok` is as it was. */
static const void *
parse_options(pipeline_parser *p, const char *who, glow_schema schema,
              uint32_t begin, bool *ok)
{
    glow_attr_list list = {0};
    glow_span at = glow_pipeline_span(p, begin);
    const void *options = NULL;

    if (!glow_pipeline_take(p, '<'))
        return schema.defaults;
    if (glow_schema_count(schema) == 0)
        *ok = glow_error_at(p->ctx, at, "E0404", "'%s' has no options", who);
    else if (glow_pipeline_read_options(p, who, schema, &list))
        options = glow_attrs_from_list(p->ctx, p->arena, schema, list, who, at);
    *ok = *ok && options;
    return options;
}

/*
 * True if the pass works on, or makes, a higher level than the backend takes: the
 * named pipelines that lead to a placed program end before it.
 */
static bool
is_beyond(const pipeline_parser *p, const glow_pass *pass)
{
    int level = p->backend && p->resumes ? p->backend->level : GLOW_ANY;

    return level != GLOW_ANY &&
           ((int)pass->level > level || (int)pass->makes > level);
}

static glow_item *
parse_pass(pipeline_parser *p, const glow_pass *pass, uint32_t begin, bool *ok)
{
    glow_item *item = new_item(p, GLOW_ITEM_PASS, begin);

    item->pass = pass;
    item->options =
        parse_options(p, pass->name, glow_pass_schema(pass), begin, ok);
    item->may_be_past = p->resumes;
    return *ok && !is_beyond(p, pass) ? item : NULL;
}

static bool
parse_body(pipeline_parser *p, glow_item *item)
{
    bool ok = true;

    if (!glow_pipeline_take(p, '('))
        return glow_pipeline_expected(p, "'('");
    if (++p->depth > PIPELINE_DEPTH)
        return glow_error_at(p->ctx, item->span, "E0402",
                             "pipelines nest deeper than %d", PIPELINE_DEPTH);
    item->body = parse_items(p, &ok);
    p->depth--;
    return ok && (glow_pipeline_take(p, ')') ||
                  glow_pipeline_expected(p, "',' or ')'"));
}

typedef struct fixpoint {
    int max;
} fixpoint;

static const glow_field fixpoint_fields[] = {
    GLOW_FIELD_DEFAULT(fixpoint, max, GLOW_INT, "rounds at most"),
    {0},
};
static const glow_schema fixpoint_schema = {
    fixpoint_fields, &(const fixpoint){GLOW_FIXPOINT_MAX}};

static glow_item *
parse_fixpoint(pipeline_parser *p, uint32_t begin)
{
    glow_item *item = new_item(p, GLOW_ITEM_FIXPOINT, begin);
    glow_attr_list list = {0};

    item->max = GLOW_FIXPOINT_MAX;
    if (glow_pipeline_take(p, '<')) {
        if (!glow_pipeline_read_options(p, "fixpoint", fixpoint_schema, &list))
            return NULL;

        const fixpoint *f = glow_attrs_from_list(
            p->ctx, p->arena, fixpoint_schema, list, "fixpoint", item->span);

        if (!f)
            return NULL;
        if (f->max < 1) {
            glow_error_at(p->ctx, item->span, "E0402",
                          "fixpoint: max is %d, but must be 1 or more", f->max);
            return NULL;
        }
        item->max = f->max;
    }
    return parse_body(p, item) ? item : NULL;
}

static glow_item *
parse_only(pipeline_parser *p)
{
    uint32_t begin = p->at++;
    const char *name = parse_symbol(p);

    if (!name)
        return NULL;

    glow_item *item = new_item(p, GLOW_ITEM_ONLY, begin);

    item->func = name;
    if (p->in_func) {
        glow_error_at(p->ctx, item->span, "E0402",
                      "'@%s' stands within the body of another function", name);
        return NULL;
    }
    p->in_func = true;

    bool ok = parse_body(p, item);

    p->in_func = false;
    return ok ? item : NULL;
}

/* `before-lower` and `after-lower` are of the backend: `own` has room for both. */
static const glow_pipeline_entry *
entries_of(const pipeline_parser *p, const glow_named_pipeline *named,
           glow_pipeline_entry own[2])
{
    const glow_backend *b = p->backend;
    bool before = strcmp(named->name, "before-lower") == 0;

    if (!before && strcmp(named->name, "after-lower") != 0)
        return named->entries;
    own[0].text = !b ? NULL : before ? b->before_lower : b->after_lower;
    return own;
}

/* The items of a named pipeline; each entry is parsed as a separate text. */
static glow_item *
parse_named(pipeline_parser *p, const glow_named_pipeline *named,
            uint32_t begin, bool *ok)
{
    glow_item *first = NULL;
    glow_item **tail = &first;
    glow_origin *origin = GLOW_NEW(p->arena, glow_origin);
    glow_pipeline_entry own[2] = {{0}};
    const glow_pipeline_entry *e = entries_of(p, named, own);

    *origin = (glow_origin){named, p->origin};
    if (p->depth >= PIPELINE_DEPTH) {
        *ok = glow_error_at(p->ctx, glow_pipeline_span(p, begin), "E0402",
                            "pipelines nest deeper than %d", PIPELINE_DEPTH);
        return NULL;
    }
    for (; e->text && *ok; e++) {
        pipeline_parser inner = *p;

        inner.source = glow_source_from(
            p->ctx, glow_arena_printf(p->arena, "<pipeline %s>", named->name),
            e->text, strlen(e->text));
        inner.at = 0;
        inner.depth++;
        inner.use = p->named ? p->use : glow_pipeline_span(p, begin);
        inner.named = named;
        inner.origin = origin;
        inner.resumes = p->resumes || named->resumes;
        *tail = parse_items(&inner, ok);
        if (*ok && glow_pipeline_peek(&inner) != '\0')
            *ok = glow_pipeline_expected(&inner, "',' or the end");
        while (*tail)
            tail = &(*tail)->next;
    }
    return first;
}

static glow_item *
parse_item(pipeline_parser *p, bool *ok)
{
    if (glow_pipeline_peek(p) == '@')
        return parse_only(p);

    uint32_t begin = p->at;
    const char *name = glow_pipeline_word(p);

    if (!name) {
        glow_pipeline_expected(p, "the name of a pass");
        return NULL;
    }
    if (strcmp(name, "fixpoint") == 0)
        return parse_fixpoint(p, begin);

    const glow_pass *pass = glow_find_pass(p->ctx, name);

    if (pass)
        return parse_pass(p, pass, begin, ok);

    const glow_named_pipeline *named = glow_find_pipeline(name);

    if (named)
        return parse_named(p, named, begin, ok);
    unknown_item(p, name, glow_pipeline_span(p, begin));
    return NULL;
}

/*
 * Parses items.  Sets *ok to false after a report; an empty pipeline is NULL.
 */
static glow_item *
parse_items(pipeline_parser *p, bool *ok)
{
    glow_item *first = NULL;
    glow_item **tail = &first;
    char c = glow_pipeline_peek(p);

    if (c == '\0' || c == ')')
        return NULL;
    do {
        int errors = glow_error_count(p->ctx);

        *tail = parse_item(p, ok);
        if (!*ok || glow_error_count(p->ctx) > errors) {
            *ok = false;
            return NULL;
        }
        while (*tail)
            tail = &(*tail)->next;
    } while (glow_pipeline_take(p, ','));
    return first;
}

glow_pipeline *
glow_pipeline_parse(glow_context *ctx, glow_arena *a, const glow_source *source)
{
    return glow_pipeline_parse_for(ctx, a, source, NULL);
}

glow_pipeline *
glow_pipeline_parse_for(glow_context *ctx, glow_arena *a,
                        const glow_source *source, const glow_backend *backend)
{
    pipeline_parser p = {
        .ctx = ctx, .arena = a, .source = source, .backend = backend};
    glow_pipeline *out = GLOW_NEW(a, glow_pipeline);
    bool ok = true;

    *out = (glow_pipeline){.ctx = ctx, .arena = a, .source = source};
    out->items = parse_items(&p, &ok);
    if (ok && glow_pipeline_peek(&p) != '\0')
        ok = glow_pipeline_expected(&p, "',' or the end");
    return ok ? out : NULL;
}

/* Backends. */

static const glow_backend *
unknown_backend(pipeline_parser *p, const char *name, glow_span at)
{
    size_t n;
    const glow_backend *const *all = glow_all_backends(p->ctx, &n);
    const char **names = GLOW_NEW_ARRAY(p->arena, const char *, n + 1);
    const char *near;

    for (size_t i = 0; i < n; i++)
        names[i] = all[i]->name;
    near = glow_did_you_mean(name, names, n);
    glow_error_hint(
        p->ctx, at, "E0811",
        near ? glow_arena_printf(p->arena, "did you mean '%s'?", near)
             : "glow-opt -list-targets shows what there is",
        "there is no backend '%s'", name);
    return NULL;
}

const glow_backend *
glow_backend_parse(glow_context *ctx, glow_arena *a, const glow_source *source,
                   const void **options)
{
    pipeline_parser p = {.ctx = ctx, .arena = a, .source = source};
    const char *name = glow_pipeline_word(&p);
    const glow_backend *b = name ? glow_find_backend(ctx, name) : NULL;
    bool ok = true;

    if (!name)
        return glow_pipeline_expected(&p, "the name of a backend") ? b : NULL;
    if (!b)
        return unknown_backend(&p, name, glow_pipeline_span(&p, 0));
    *options = parse_options(&p, name, glow_backend_schema(b), 0, &ok);
    if (ok && glow_pipeline_peek(&p) != '\0')
        ok = glow_pipeline_expected(&p, "'<' or the end");
    return ok ? b : NULL;
}

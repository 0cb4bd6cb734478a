/*
 * The text of pipelines.
 *
 *     pipeline = [ item { "," item } ]
 *     item     = NAME [ options ]
 *              | "fixpoint" [ "<" "max" "=" INT ">" ] "(" pipeline ")"
 *              | "@" NAME "(" pipeline ")"
 *     options  = "<" option { "," option } ">"
 *     option   = NAME [ "=" value ]
 *     value    = NUMBER | NAME | STRING | "[" [ value { "," value } ] "]"
 *
 * NAME is a pass or a named pipeline, which is put in its place.  An option
 * without a value is a flag that is set.
 */

#include "passes/pipeline.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "glow/file.h"

#define MAX_DEPTH 32

typedef struct parser {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    uint32_t at;
    int depth;
    bool in_func;                     /* within @name(...) */
    bool resumes;                     /* within a pipeline that does */
    const glow_named_pipeline *named; /* whose text this is, or NULL */
    glow_span use;                    /* of its name, in what the user wrote */
} parser;

static glow_item *parse_items(parser *p, bool *ok);

static glow_span
span_from(const parser *p, uint32_t begin)
{
    return (glow_span){p->source, begin, p->at};
}

static char
peek(parser *p)
{
    while (p->at < p->source->size &&
           isspace((unsigned char)p->source->text[p->at]))
        p->at++;
    return p->at < p->source->size ? p->source->text[p->at] : '\0';
}

static bool
take(parser *p, char c)
{
    if (peek(p) != c || c == '\0')
        return false;
    p->at++;
    return true;
}

/* Reports what stands at hand, where `wanted` should. */
static bool
expected(parser *p, const char *wanted)
{
    char c = peek(p);
    glow_span here = {p->source, p->at, p->at + (c != '\0')};

    if (c == '\0')
        return glow_error_at(p->ctx, here, "E0402",
                             "the pipeline ends where %s is expected", wanted);
    return glow_error_at(p->ctx, here, "E0402", "expected %s, not '%c'", wanted,
                         isprint((unsigned char)c) ? c : '?');
}

static bool
is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* A word of letters, digits, `-`, `_` and `.`; NULL if there is none. */
static const char *
parse_word(parser *p)
{
    peek(p);

    uint32_t begin = p->at;

    while (p->at < p->source->size && is_name_char(p->source->text[p->at]))
        p->at++;
    if (p->at == begin)
        return NULL;
    return glow_arena_strndup(p->arena, p->source->text + begin, p->at - begin);
}

/* "text" with \" and \\; the opening quote stands at hand. */
static const char *
parse_string(parser *p, size_t *size)
{
    glow_buf b = {.arena = p->arena};
    const char *text = p->source->text;
    uint32_t begin = p->at++;

    glow_buf_add(&b, "", 0);
    while (p->at < p->source->size && text[p->at] != '"') {
        if (text[p->at] == '\\' && p->at + 1 < p->source->size)
            p->at++;
        glow_buf_putc(&b, text[p->at++]);
    }
    if (p->at >= p->source->size) {
        glow_error_at(p->ctx, span_from(p, begin), "E0402",
                      "the string is not closed");
        return NULL;
    }
    p->at++;
    *size = b.len;
    return b.text ? b.text : "";
}

/* Names of functions may be quoted. */
static const char *
parse_symbol(parser *p)
{
    size_t size;

    if (peek(p) == '"')
        return parse_string(p, &size);

    const char *word = parse_word(p);

    if (!word)
        expected(p, "the name of a function");
    return word;
}

/* Names. */

static const char *
suggest_item(parser *p, const char *wrong)
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
unknown_item(parser *p, const char *name, glow_span at)
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

/* Values and options. */

static bool
parse_number(parser *p, glow_attr_value *v)
{
    uint32_t begin = p->at;
    char *end;

    while (p->at < p->source->size && (is_name_char(p->source->text[p->at]) ||
                                       p->source->text[p->at] == '+'))
        p->at++;

    char *text =
        glow_arena_strndup(p->arena, p->source->text + begin, p->at - begin);

    const char *digits = text + strspn(text, "-+0123456789");

    v->span = span_from(p, begin);
    v->kind = GLOW_V_INT;
    errno = 0;
    if (*digits == '\0') {
        long long i = strtoll(text, &end, 10);

        v->i = i;
        v->f = (double)i;
    } else {
        v->kind = GLOW_V_FLOAT;
        v->f = (double)strtof(text, &end);
    }
    if (*end != '\0' && isdigit((unsigned char)text[0]) &&
        isalpha((unsigned char)*digits)) {
        v->kind = GLOW_V_WORD; /* 512KiB, or what is meant to be a size */
        v->text = text;
        return true;
    }
    if (*end != '\0' || end == text)
        return glow_error_at(p->ctx, v->span, "E0402", "'%s' is no number",
                             text);
    if (v->kind == GLOW_V_INT && errno == ERANGE)
        return glow_error_at(p->ctx, v->span, "E0402",
                             "'%s' is no number of 64 bits", text);
    return true;
}

static bool parse_value(parser *p, glow_attr_value *v);

static bool
parse_list(parser *p, glow_attr_value *v)
{
    uint32_t begin = p->at++;
    glow_attr_value *items = NULL;
    size_t cap = 0;

    v->kind = GLOW_V_LIST;
    if (++p->depth > MAX_DEPTH)
        return glow_error_at(p->ctx, span_from(p, begin), "E0402",
                             "brackets nest deeper than %d", MAX_DEPTH);
    while (!take(p, ']')) {
        if (v->count > 0 && !take(p, ','))
            return expected(p, "',' or ']'");
        items = glow_arena_grow(p->arena, items, v->count, &cap, sizeof *items);
        items[v->count] = (glow_attr_value){0};
        if (!parse_value(p, &items[v->count]))
            return false;
        v->count++;
    }
    p->depth--;
    v->items = items;
    v->span = span_from(p, begin);
    return true;
}

static bool
parse_value(parser *p, glow_attr_value *v)
{
    char c = peek(p);
    uint32_t begin = p->at;

    if (c == '[')
        return parse_list(p, v);
    if (c == '-' || c == '+' || isdigit((unsigned char)c))
        return parse_number(p, v);
    if (c == '"') {
        v->kind = GLOW_V_STRING;
        v->text = parse_string(p, &v->size);
        v->span = span_from(p, begin);
        return v->text != NULL;
    }
    v->kind = GLOW_V_WORD;
    v->text = parse_word(p);
    v->span = span_from(p, begin);
    if (!v->text)
        return expected(p, "a value");
    if (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0) {
        v->kind = GLOW_V_BOOL;
        v->i = v->text[0] == 't';
    }
    return true;
}

/* Strings need no quotes, and floats no dot, where the option wants them. */
static void
adapt(const glow_field *f, glow_attr_value *v)
{
    if (f->kind == GLOW_STRING && v->kind == GLOW_V_WORD) {
        v->kind = GLOW_V_STRING;
        v->size = strlen(v->text);
    }
    if (f->kind == GLOW_FLOAT32 && v->kind == GLOW_V_INT)
        v->kind = GLOW_V_FLOAT;
}

static bool
unknown_option(parser *p, const char *who, glow_schema schema,
               const glow_attr *a)
{
    const char *names[GLOW_MAX_FIELDS];
    glow_buf all = {.arena = p->arena};
    int count = glow_schema_count(schema);

    for (int i = 0; i < count; i++) {
        names[i] = schema.fields[i].name;
        glow_buf_printf(&all, "%s%s", i > 0 ? ", " : "", names[i]);
    }

    const char *near = glow_did_you_mean(a->name, names, (size_t)count);
    const char *hint =
        near ? glow_arena_printf(p->arena, "did you mean '%s'?", near)
             : glow_arena_printf(p->arena, "%s takes: %s", who, all.text);

    return glow_error_hint(p->ctx, a->span, "E0404", hint,
                           "'%s' has no option '%s'", who, a->name);
}

/* `<rows=32,fast>`; the bracket is taken already. */
static bool
parse_options(parser *p, const char *who, glow_schema schema,
              glow_attr_list *list)
{
    glow_attr *items = NULL;
    size_t cap = 0;

    do {
        glow_attr a = {.value = {.kind = GLOW_V_BOOL, .i = 1}};

        peek(p);

        uint32_t begin = p->at;
        const char *name = parse_word(p);

        if (!name)
            return expected(p, "the name of an option");
        a.span = span_from(p, begin);
        a.value.span = a.span;
        if (take(p, '=') && !parse_value(p, &a.value))
            return false;

        const glow_field *f = glow_schema_find(schema, name);

        a.name = name;
        if (!f)
            return unknown_option(p, who, schema, &a);
        adapt(f, &a.value);
        items =
            glow_arena_grow(p->arena, items, list->count, &cap, sizeof *items);
        items[list->count++] = a;
    } while (take(p, ','));
    list->items = items;
    return take(p, '>') || expected(p, "',' or '>'");
}

/* Items. */

static glow_item *
new_item(parser *p, glow_item_kind kind, uint32_t begin)
{
    glow_item *i = GLOW_NEW(p->arena, glow_item);

    i->kind = kind;
    i->span = p->named ? p->use : span_from(p, begin);
    return i;
}

static glow_item *
parse_pass(parser *p, const glow_pass *pass, uint32_t begin)
{
    glow_item *item = new_item(p, GLOW_ITEM_PASS, begin);
    glow_schema schema = glow_pass_schema(pass);
    glow_attr_list list = {0};
    glow_span at = span_from(p, begin);

    item->pass = pass;
    item->options = pass->defaults;
    item->may_be_past = p->resumes;
    if (!take(p, '<'))
        return item;
    if (glow_schema_count(schema) == 0) {
        glow_error_at(p->ctx, at, "E0404", "'%s' has no options", pass->name);
        return NULL;
    }
    if (!parse_options(p, pass->name, schema, &list))
        return NULL;
    item->options =
        glow_attrs_from_list(p->ctx, p->arena, schema, list, pass->name, at);
    return item->options ? item : NULL;
}

static bool
parse_body(parser *p, glow_item *item)
{
    bool ok = true;

    if (!take(p, '('))
        return expected(p, "'('");
    if (++p->depth > MAX_DEPTH)
        return glow_error_at(p->ctx, item->span, "E0402",
                             "pipelines nest deeper than %d", MAX_DEPTH);
    item->body = parse_items(p, &ok);
    p->depth--;
    return ok && (take(p, ')') || expected(p, "',' or ')'"));
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
parse_fixpoint(parser *p, uint32_t begin)
{
    glow_item *item = new_item(p, GLOW_ITEM_FIXPOINT, begin);
    glow_attr_list list = {0};

    item->max = GLOW_FIXPOINT_MAX;
    if (take(p, '<')) {
        if (!parse_options(p, "fixpoint", fixpoint_schema, &list))
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
parse_only(parser *p)
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

/* The items of a named pipeline: each entry is parsed as a text of its own. */
static glow_item *
parse_named(parser *p, const glow_named_pipeline *named, uint32_t begin,
            bool *ok)
{
    glow_item *first = NULL;
    glow_item **tail = &first;

    if (p->depth >= MAX_DEPTH) {
        *ok = glow_error_at(p->ctx, span_from(p, begin), "E0402",
                            "pipelines nest deeper than %d", MAX_DEPTH);
        return NULL;
    }
    for (const glow_pipeline_entry *e = named->entries; e->text && *ok; e++) {
        parser inner = *p;

        inner.source = glow_source_from(
            p->ctx, glow_arena_printf(p->arena, "<pipeline %s>", named->name),
            e->text, strlen(e->text));
        inner.at = 0;
        inner.depth++;
        inner.use = p->named ? p->use : span_from(p, begin);
        inner.named = named;
        inner.resumes = p->resumes || named->resumes;
        *tail = parse_items(&inner, ok);
        if (*ok && peek(&inner) != '\0')
            *ok = expected(&inner, "',' or the end");
        while (*tail)
            tail = &(*tail)->next;
    }
    return first;
}

static glow_item *
parse_item(parser *p, bool *ok)
{
    if (peek(p) == '@')
        return parse_only(p);

    uint32_t begin = p->at;
    const char *name = parse_word(p);

    if (!name) {
        expected(p, "the name of a pass");
        return NULL;
    }
    if (strcmp(name, "fixpoint") == 0)
        return parse_fixpoint(p, begin);

    const glow_pass *pass = glow_find_pass(p->ctx, name);

    if (pass)
        return parse_pass(p, pass, begin);

    const glow_named_pipeline *named = glow_find_pipeline(name);

    if (named)
        return parse_named(p, named, begin, ok);
    unknown_item(p, name, span_from(p, begin));
    return NULL;
}

/* Sets *ok to false after a report; an empty pipeline is none. */
static glow_item *
parse_items(parser *p, bool *ok)
{
    glow_item *first = NULL;
    glow_item **tail = &first;
    char c = peek(p);

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
    } while (take(p, ','));
    return first;
}

glow_pipeline *
glow_pipeline_parse(glow_context *ctx, glow_arena *a, const glow_source *source)
{
    parser p = {.ctx = ctx, .arena = a, .source = source};
    glow_pipeline *out = GLOW_NEW(a, glow_pipeline);
    bool ok = true;

    *out = (glow_pipeline){.ctx = ctx, .arena = a, .source = source};
    out->items = parse_items(&p, &ok);
    if (ok && peek(&p) != '\0')
        ok = expected(&p, "',' or the end");
    return ok ? out : NULL;
}

/* Printing. */

/* The value as the text form has it: what stands in ` {Rows: 32}`. */
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

    while (is_name_char(name[n]))
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

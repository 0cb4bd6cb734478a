/* Lexer of pipelines: characters, words, and the options of passes. */

#include "passes/pipeline_parser.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

glow_span
glow_pipeline_span(const pipeline_parser *p, uint32_t begin)
{
    return (glow_span){p->source, begin, p->at};
}

char
glow_pipeline_peek(pipeline_parser *p)
{
    while (p->at < p->source->size &&
           isspace((unsigned char)p->source->text[p->at]))
        p->at++;
    return p->at < p->source->size ? p->source->text[p->at] : '\0';
}

bool
glow_pipeline_take(pipeline_parser *p, char c)
{
    if (glow_pipeline_peek(p) != c || c == '\0')
        return false;
    p->at++;
    return true;
}

bool
glow_pipeline_expected(pipeline_parser *p, const char *wanted)
{
    char c = glow_pipeline_peek(p);
    glow_span here = {p->source, p->at, p->at + (c != '\0')};

    if (c == '\0')
        return glow_error_at(p->ctx, here, "E0402",
                             "the pipeline ends where %s is expected", wanted);
    return glow_error_at(p->ctx, here, "E0402", "expected %s, not '%c'", wanted,
                         isprint((unsigned char)c) ? c : '?');
}

bool
glow_pipeline_is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

const char *
glow_pipeline_word(pipeline_parser *p)
{
    glow_pipeline_peek(p);

    uint32_t begin = p->at;

    while (p->at < p->source->size &&
           glow_pipeline_is_name_char(p->source->text[p->at]))
        p->at++;
    if (p->at == begin)
        return NULL;
    return glow_arena_strndup(p->arena, p->source->text + begin, p->at - begin);
}

const char *
glow_pipeline_string(pipeline_parser *p, size_t *size)
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
        glow_error_at(p->ctx, glow_pipeline_span(p, begin), "E0402",
                      "the string is not closed");
        return NULL;
    }
    p->at++;
    *size = b.len;
    return b.text ? b.text : "";
}

/* Values and options. */

static bool
parse_number(pipeline_parser *p, glow_attr_value *v)
{
    uint32_t begin = p->at;
    char *end;

    while (p->at < p->source->size &&
           (glow_pipeline_is_name_char(p->source->text[p->at]) ||
            p->source->text[p->at] == '+'))
        p->at++;

    char *text =
        glow_arena_strndup(p->arena, p->source->text + begin, p->at - begin);

    const char *digits = text + strspn(text, "-+0123456789");

    v->span = glow_pipeline_span(p, begin);
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
        v->kind = GLOW_V_WORD; /* 512KiB, or a misspelled size */
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

static bool parse_value(pipeline_parser *p, glow_attr_value *v);

static bool
parse_list(pipeline_parser *p, glow_attr_value *v)
{
    uint32_t begin = p->at++;
    glow_attr_value *items = NULL;
    size_t cap = 0;

    v->kind = GLOW_V_LIST;
    if (++p->depth > PIPELINE_DEPTH)
        return glow_error_at(p->ctx, glow_pipeline_span(p, begin), "E0402",
                             "brackets nest deeper than %d", PIPELINE_DEPTH);
    while (!glow_pipeline_take(p, ']')) {
        if (v->count > 0 && !glow_pipeline_take(p, ','))
            return glow_pipeline_expected(p, "',' or ']'");
        items = glow_arena_grow(p->arena, items, v->count, &cap, sizeof *items);
        items[v->count] = (glow_attr_value){0};
        if (!parse_value(p, &items[v->count]))
            return false;
        v->count++;
    }
    p->depth--;
    v->items = items;
    v->span = glow_pipeline_span(p, begin);
    return true;
}

static bool
parse_value(pipeline_parser *p, glow_attr_value *v)
{
    char c = glow_pipeline_peek(p);
    uint32_t begin = p->at;

    if (c == '[')
        return parse_list(p, v);
    if (c == '-' || c == '+' || isdigit((unsigned char)c))
        return parse_number(p, v);
    if (c == '"') {
        v->kind = GLOW_V_STRING;
        v->text = glow_pipeline_string(p, &v->size);
        v->span = glow_pipeline_span(p, begin);
        return v->text != NULL;
    }
    v->kind = GLOW_V_WORD;
    /* A node is named as in the text: %conv1. */
    p->at += c == '%';
    v->text = glow_pipeline_word(p);
    v->span = glow_pipeline_span(p, begin);
    if (!v->text)
        return glow_pipeline_expected(p, "a value");
    if (c == '%')
        v->text = glow_arena_printf(p->arena, "%%%s", v->text);
    if (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0) {
        v->kind = GLOW_V_BOOL;
        v->i = v->text[0] == 't';
    }
    return true;
}

/*
 * Converts words to strings and integers to floats, as the field `f` requires.
 */
static void
adapt(glow_arena *a, const glow_field *f, glow_attr_value *v)
{
    if (f->kind == GLOW_STRING && v->kind == GLOW_V_WORD) {
        v->kind = GLOW_V_STRING;
        v->size = strlen(v->text);
    }
    if (f->kind == GLOW_FLOAT32 && v->kind == GLOW_V_INT)
        v->kind = GLOW_V_FLOAT;
    if (f->kind == GLOW_ENUM && v->kind == GLOW_V_INT) {
        v->kind = GLOW_V_WORD;
        v->text = glow_arena_printf(a, "%" PRId64, v->i);
    }
}

static bool
unknown_option(pipeline_parser *p, const char *who, glow_schema schema,
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

bool
glow_pipeline_read_options(pipeline_parser *p, const char *who,
                           glow_schema schema, glow_attr_list *list)
{
    glow_attr *items = NULL;
    size_t cap = 0;

    do {
        glow_attr a = {.value = {.kind = GLOW_V_BOOL, .i = 1}};

        glow_pipeline_peek(p);

        uint32_t begin = p->at;
        const char *name = glow_pipeline_word(p);

        if (!name)
            return glow_pipeline_expected(p, "the name of an option");
        a.span = glow_pipeline_span(p, begin);
        a.value.span = a.span;
        if (glow_pipeline_take(p, '=') && !parse_value(p, &a.value))
            return false;

        const glow_field *f = glow_schema_find(schema, name);

        a.name = name;
        if (!f)
            return unknown_option(p, who, schema, &a);
        adapt(p->arena, f, &a.value);
        items =
            glow_arena_grow(p->arena, items, list->count, &cap, sizeof *items);
        items[list->count++] = a;
    } while (glow_pipeline_take(p, ',') ||
             glow_pipeline_is_name_char(glow_pipeline_peek(p)));
    list->items = items;
    return glow_pipeline_take(p, '>') ||
           glow_pipeline_expected(p, "',' or '>'");
}

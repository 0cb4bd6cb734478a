/*
 * Reader of Glow's profiles: three YAML documents as LLVM's YAML library prints them.
 *
 *     ---
 *     GlowToolsVersion: 2020-05-12
 *     ...
 *     ---
 *     GraphPreLowerHash: 0xFA1E
 *     ...
 *     ---
 *     - NodeOutputName: 'conv1:0'
 *       Min: -1.5
 *       Max: 3.25
 *       Histogram: [ 1, 0, 7 ]
 *     ...
 *
 * Scalars may stand in quotes, and lists go on over lines.
 */

#include <ctype.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ir/profile.h"

enum { MOST_BINS = 1 << 20 };

typedef struct reader {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    size_t at;
    glow_profile *profile;
    size_t cap;
    bool has_min, has_max; /* of the last value */
} reader;

static bool wrong(const reader *r, size_t at, const char *fmt, ...)
    GLOW_PRINTF(3, 4);

static bool
wrong(const reader *r, size_t at, const char *fmt, ...)
{
    va_list ap;
    const char *text;

    va_start(ap, fmt);
    text = glow_arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return glow_error_hint(r->ctx,
                           (glow_span){r->source, (uint32_t)at, (uint32_t)at},
                           "E0520", GLOW_PROFILE_HINT, "%s", text);
}

static char
byte(const reader *r)
{
    return r->at < r->source->size ? r->source->text[r->at] : '\0';
}

/* Skips blanks, and line ends and comments if `lines`. */
static void
skip(reader *r, bool lines)
{
    for (; r->at < r->source->size; r->at++) {
        char c = byte(r);

        if (lines && c == '#') {
            while (r->at + 1 < r->source->size &&
                   r->source->text[r->at + 1] != '\n')
                r->at++;
        } else if (c != ' ' && c != '\t' && c != '\r' &&
                   !(lines && c == '\n')) {
            return;
        }
    }
}

/* A scalar up to one of `ends`, or in quotes. */
static const char *
scalar(reader *r, const char *ends)
{
    const char *text = r->source->text;
    char quote = byte(r);
    size_t begin = r->at, end;

    if (quote == '\'' || quote == '"') {
        begin++;
        for (end = begin; end < r->source->size && text[end] != quote; end++)
            ;
        r->at = end < r->source->size ? end + 1 : end;
        return glow_arena_strndup(r->arena, text + begin, end - begin);
    }
    while (r->at < r->source->size && text[r->at] != '\n' &&
           !strchr(ends, text[r->at]) &&
           !(text[r->at] == '#' && r->at > begin && text[r->at - 1] == ' '))
        r->at++;
    for (end = r->at; end > begin && isspace((unsigned char)text[end - 1]);)
        end--;
    return glow_arena_strndup(r->arena, text + begin, end - begin);
}

/* A number of the C locale that a float holds. */
static bool
number(reader *r, const char *key, const char *ends, double *out)
{
    size_t at = r->at;
    const char *text = scalar(r, ends);
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c);
    char *end;

    *out = strtod(text, &end);
    uselocale(before);
    freelocale(c);
    if (end == text || *end || !glow_profile_counts(*out))
        return wrong(r, at, "'%s' must be a finite number, not '%.40s'", key,
                     text);
    return true;
}

static bool
histogram(reader *r, glow_profile_value *v)
{
    double *counts = NULL;
    size_t n = 0, cap = 0, at = r->at;

    if (byte(r) != '[')
        return wrong(r, at, "'Histogram' must be a list in brackets");
    r->at++;
    for (skip(r, true); byte(r) != ']'; skip(r, true)) {
        if (n == MOST_BINS)
            return wrong(r, r->at, "'Histogram' has more than %d bins",
                         MOST_BINS);
        counts = glow_arena_grow(r->arena, counts, n, &cap, sizeof *counts);
        at = r->at;
        if (!number(r, "Histogram", ",]\n", &counts[n]))
            return false;
        if (counts[n++] < 0)
            return wrong(r, at, "'Histogram' has a count below 0");
        skip(r, true);
        if (byte(r) == ',')
            r->at++;
        else if (byte(r) != ']')
            return wrong(r, r->at, "`,` or `]` is missing in 'Histogram'");
    }
    r->at++;
    v->counts = counts;
    v->n_counts = v->bins = (int64_t)n;
    return true;
}

/* Checks the last value once all of it is read. */
static bool
finish(const reader *r)
{
    const glow_profile *p = r->profile;
    glow_profile_value *v = p->count ? &p->values[p->count - 1] : NULL;

    if (!v)
        return true;
    if (!r->has_min || !r->has_max)
        return wrong(r, v->span.begin, "%s has no '%s'", v->name,
                     r->has_min ? "Max" : "Min");
    if (!(v->min <= v->max))
        return wrong(r, v->span.begin,
                     "%s: the minimum %.9g is above the maximum %.9g", v->name,
                     (double)v->min, (double)v->max);
    v->run_min = (double)v->min;
    v->run_max = (double)v->max;
    v->low = (double)v->min;
    v->width = v->n_counts
                   ? ((double)v->max - (double)v->min) / (double)v->n_counts
                   : 0;
    if (!(v->width > 0))
        v->bins = v->n_counts = 0; /* of one number */
    return true;
}

static bool
begin_value(reader *r, size_t at)
{
    glow_profile *p = r->profile;

    if (!finish(r))
        return false;
    p->values = glow_arena_grow(r->arena, p->values, p->count, &r->cap,
                                sizeof *p->values);
    p->values[p->count++] =
        (glow_profile_value){.axis = -1,
                             .span = {r->source, (uint32_t)at, (uint32_t)at},
                             .name = scalar(r, "\n")};
    r->has_min = r->has_max = false;
    return true;
}

/* The value of `key`, which begins at `at`. */
static bool
member(reader *r, const char *key, size_t at)
{
    glow_profile *p = r->profile;
    glow_profile_value *v = p->count ? &p->values[p->count - 1] : NULL;
    double x;

    if (strcmp(key, "NodeOutputName") == 0)
        return begin_value(r, at);
    if (strcmp(key, "GraphPreLowerHash") == 0)
        return (p->hash = scalar(r, "\n")) != NULL;
    if (v && strcmp(key, "Histogram") == 0)
        return histogram(r, v);
    if (v && (strcmp(key, "Min") == 0 || strcmp(key, "Max") == 0)) {
        bool is_min = key[1] == 'i';

        if (!number(r, key, "\n", &x))
            return false;
        *(is_min ? &v->min : &v->max) = (float)x;
        *(is_min ? &r->has_min : &r->has_max) = true;
        return true;
    }
    if (v)
        return wrong(r, at, "a value of a profile has no '%.40s'", key);
    scalar(r, "\n"); /* of another document, as the version */
    return true;
}

static bool
is_mark(const reader *r, const char *mark)
{
    return r->at + 3 <= r->source->size &&
           memcmp(r->source->text + r->at, mark, 3) == 0;
}

glow_profile *
glow_profile_read_yaml(glow_context *ctx, glow_arena *a,
                       const glow_source *source)
{
    reader r = {.ctx = ctx, .arena = a, .source = source};

    r.profile = GLOW_NEW(a, glow_profile);
    for (skip(&r, true); r.at < source->size; skip(&r, true)) {
        size_t at = r.at;
        const char *key;

        if (is_mark(&r, "---") || is_mark(&r, "...")) {
            r.at += 3;
            continue;
        }
        if (byte(&r) == '-') {
            r.at++;
            skip(&r, false);
        }
        key = scalar(&r, ":\n");
        skip(&r, false);
        if (byte(&r) != ':') {
            wrong(&r, at, "a line of a profile is `KEY: VALUE`");
            return NULL;
        }
        r.at++;
        skip(&r, false);
        if (!member(&r, key, at))
            return NULL;
    }
    return finish(&r) ? r.profile : NULL;
}

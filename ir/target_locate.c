/*
 * Positions of the members of a JSON text.  The parser of jansson keeps none, so the
 * text, which it has accepted, is scanned for the member that a report is about.
 */

#include <stdint.h>
#include <string.h>

#include "ir/target.h"

typedef struct scanner {
    const char *at, *end;
} scanner;

static void
skip_blanks(scanner *s)
{
    while (s->at < s->end && strchr(" \t\r\n,:", *s->at))
        s->at++;
}

static void
skip_string(scanner *s)
{
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++)
        s->at += *s->at == '\\';
    s->at++;
}

/* Steps behind the value at hand. */
static void
skip_value(scanner *s)
{
    int depth = 0;

    do {
        skip_blanks(s);
        if (s->at >= s->end)
            return;
        if (*s->at == '"') {
            skip_string(s);
            continue;
        }
        depth += *s->at == '{' || *s->at == '[';
        depth -= *s->at == '}' || *s->at == ']';
        s->at++;
        while (depth == 0 && s->at < s->end && !strchr(" \t\r\n,:]}", *s->at))
            s->at++;
    } while (depth > 0);
}

/* Steps to the key `name` of the object at hand, else stays. */
static bool
find_member(scanner *s, const char *name)
{
    scanner t = *s;
    size_t n = strlen(name);

    skip_blanks(&t);
    if (t.at >= t.end || *t.at != '{')
        return false;
    t.at++;
    for (skip_blanks(&t); t.at < t.end && *t.at != '}'; skip_blanks(&t)) {
        const char *key = t.at;

        skip_string(&t);
        if (t.at == key + n + 2 && memcmp(key + 1, name, n) == 0) {
            s->at = key;
            return true;
        }
        skip_value(&t);
    }
    return false;
}

/* Steps to element `index` of the list at hand, else stays. */
static bool
find_element(scanner *s, size_t index)
{
    scanner t = *s;

    skip_blanks(&t);
    if (t.at >= t.end || *t.at != '[')
        return false;
    t.at++;
    for (skip_blanks(&t); t.at < t.end && *t.at != ']'; skip_blanks(&t)) {
        if (index-- == 0) {
            s->at = t.at;
            return true;
        }
        skip_value(&t);
    }
    return false;
}

/* Steps from a key to its value. */
static void
enter(scanner *s)
{
    skip_string(s);
    skip_blanks(s);
}

glow_span
glow_target_locate(const target_reader *r)
{
    scanner s = {r->source->text, r->source->text + r->source->size};
    bool ok = !r->list || find_member(&s, r->list);
    uint32_t at;

    if (ok && r->list && r->index != SIZE_MAX) {
        scanner t = s;

        enter(&t);
        ok = find_element(&t, r->index);
        s = ok ? t : s;
    } else if (ok && r->list && r->member) {
        enter(&s);
    }
    if (ok && r->member)
        find_member(&s, r->member);
    at = (uint32_t)(s.at - r->source->text);
    return (glow_span){r->source, at, at};
}

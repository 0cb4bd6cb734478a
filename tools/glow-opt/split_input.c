#include "tools/glow-opt/split_input.h"

#include <string.h>

static const char *
line_end(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));

    return newline ? newline + 1 : end;
}

/* The separator alone, blanks at its end aside. */
static bool
is_split(const char *line, const char *end)
{
    size_t n = strlen(SPLIT_LINE);

    if ((size_t)(end - line) < n || memcmp(line, SPLIT_LINE, n) != 0)
        return false;
    for (const char *c = line + n; c < end; c++)
        if (*c != ' ' && *c != '\t' && *c != '\r' && *c != '\n')
            return false;
    return true;
}

static glow_source *
part(glow_arena *a, const glow_source *whole, const char *from, const char *to,
     int first_line)
{
    size_t size = (size_t)(to - from);
    glow_source *s = GLOW_NEW(a, glow_source);

    *s = (glow_source){whole->name, glow_arena_strndup(a, "", 0), size,
                       first_line};
    if (size > 0) { /* may hold NULs */
        char *text = glow_arena_alloc(a, size + 1);

        memcpy(text, from, size);
        s->text = text;
    }
    return s;
}

const glow_source *const *
split_input(glow_arena *a, const glow_source *whole, size_t *count)
{
    const char *end = whole->text + whole->size;
    const char *from = whole->text;
    const glow_source **parts = NULL;
    size_t cap = 0;
    int first_line = whole->first_line, number = whole->first_line;

    *count = 0;
    for (const char *line = from, *next; line < end; line = next, number++) {
        next = line_end(line, end);
        if (!is_split(line, next))
            continue;
        parts = glow_arena_grow(a, parts, *count, &cap, sizeof *parts);
        parts[(*count)++] = part(a, whole, from, line, first_line);
        from = next;
        first_line = number + 1;
    }
    parts = glow_arena_grow(a, parts, *count, &cap, sizeof *parts);
    parts[(*count)++] = part(a, whole, from, end, first_line);
    return parts;
}

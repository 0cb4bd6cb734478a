/*
 * A diff of two texts of the IR, for -print-changed=diff.
 *
 * Names are kept by passes, so a line is known by the name that it defines, and
 * any other line by its whole text.  Lines known to both sides are matched; the
 * longest run of matches that keeps the order stays in place, and the rest has
 * moved, gone or come.  With unique keys this is the patience diff (B. Cohen):
 * n log n, and a renamed neighbour disturbs nothing.
 */

#include <string.h>

#include "tools/glow-opt/opt.h"

typedef struct line {
    const char *text;
    const char *key;
    size_t match; /* index on the other side, or NONE */
    bool stays;
} line;

typedef struct side {
    line *lines;
    size_t count, cap;
} side;

#define NONE SIZE_MAX

/* What a line is known by: `  %y = Relu(...)` by %y. */
static const char *
key_of(glow_arena *a, const char *text)
{
    const char *start = text + strspn(text, " ");
    const char *end = strstr(start, " = ");

    if ((*start == '%' || *start == '@') && end)
        return glow_arena_strndup(a, text, (size_t)(end - text));
    return text;
}

static side
split(glow_arena *a, const char *text)
{
    side s = {0};

    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *copy = glow_arena_strndup(a, text, n);

        s.lines = glow_arena_grow(a, s.lines, s.count, &s.cap, sizeof *s.lines);
        s.lines[s.count++] = (line){copy, key_of(a, copy), NONE, false};
        text += n + (text[n] == '\n');
    }
    return s;
}

/* Matches lines of equal keys; where a key repeats, first to first. */
static void
match(glow_arena *a, side *old, side *new)
{
    glow_map *known = glow_map_new(a);

    for (size_t i = old->count; i-- > 0;) {
        line *l = &old->lines[i];

        if (*l->key && strcmp(l->key, "}") != 0)
            glow_map_set(known, l->key, l);
    }
    for (size_t i = 0; i < new->count; i++) {
        line *l = glow_map_get(known, new->lines[i].key);

        if (!l || l->match != NONE)
            continue;
        l->match = i;
        new->lines[i].match = (size_t)(l - old->lines);
    }
}

/* Marks the longest increasing run of matches: patience sorting. */
static void
settle(glow_arena *a, side *old, side *new)
{
    size_t *top = GLOW_NEW_ARRAY(a, size_t, new->count + 1);
    size_t *back = GLOW_NEW_ARRAY(a, size_t, new->count + 1);
    size_t piles = 0;

    for (size_t i = 0; i < new->count; i++) {
        size_t low = 0, high = piles;

        if (new->lines[i].match == NONE)
            continue;
        while (low < high) {
            size_t mid = (low + high) / 2;

            if (new->lines[top[mid]].match < new->lines[i].match)
                low = mid + 1;
            else
                high = mid;
        }
        back[i] = low > 0 ? top[low - 1] : NONE;
        top[low] = i;
        piles += low == piles;
    }
    for (size_t i = piles > 0 ? top[piles - 1] : NONE; i != NONE; i = back[i]) {
        new->lines[i].stays = true;
        old->lines[new->lines[i].match].stays = true;
    }
}

static void
put(glow_buf *b, char sign, const line *l)
{
    glow_buf_printf(b, "%c %s\n", sign, l->text);
}

void
put_diff(glow_buf *b, const char *before, const char *after)
{
    glow_arena *a = glow_arena_new();
    side old = split(a, before);
    side new = split(a, after);
    size_t i = 0;

    match(a, &old, &new);
    settle(a, &old, &new);
    for (size_t j = 0; j < new.count; j++) {
        const line *l = &new.lines[j];

        while (l->stays && i < l->match) {
            if (*old.lines[i].key && strcmp(old.lines[i].key, "}") != 0)
                put(b, '-', &old.lines[i]);
            i++;
        }
        if (!l->stays) {
            if (*l->key && strcmp(l->key, "}") != 0)
                put(b, '+', l);
            continue;
        }
        if (strcmp(l->text, old.lines[i].text) != 0) {
            put(b, '-', &old.lines[i]);
            put(b, '+', l);
        }
        i++;
    }
    for (; i < old.count; i++)
        if (*old.lines[i].key && strcmp(old.lines[i].key, "}") != 0)
            put(b, '-', &old.lines[i]);
    glow_arena_free(a);
}

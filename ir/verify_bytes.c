/* Interval sets of bytes, for the verifier of programs. */

#include "ir/verify_bytes.h"

#include <string.h>

/* The first run that ends after `begin`. */
static size_t
run_after(const bytes_set *s, int64_t begin)
{
    size_t from = 0, to = s->count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (s->at[mid].end <= begin)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

void
glow_bytes_add(glow_arena *a, bytes_set *s, bytes_run r)
{
    size_t from = run_after(s, r.begin - 1), to = from;

    while (to < s->count && s->at[to].begin <= r.end)
        to++;
    if (to > from) {
        if (s->at[from].begin < r.begin)
            r.begin = s->at[from].begin;
        if (s->at[to - 1].end > r.end)
            r.end = s->at[to - 1].end;
    } else {
        s->at = glow_arena_grow(a, s->at, s->count, &s->cap, sizeof(bytes_run));
    }
    memmove(&s->at[from + 1], &s->at[to], (s->count - to) * sizeof(bytes_run));
    s->at[from] = r;
    s->count = s->count - (to - from) + 1;
}

void
glow_bytes_add_all(glow_arena *a, bytes_set *s, const bytes_set *more)
{
    size_t i = s->count, k = more->count, to = i + k, count = 0;

    while (s->cap < to)
        s->at = glow_arena_grow(a, s->at, s->cap, &s->cap, sizeof(bytes_run));
    while (k > 0) /* merge from the end, in place */
        s->at[--to] = i > 0 && s->at[i - 1].begin > more->at[k - 1].begin
                          ? s->at[--i]
                          : more->at[--k];
    for (i = 0; i < s->count + more->count; i++)
        if (count > 0 && s->at[count - 1].end >= s->at[i].begin) {
            if (s->at[count - 1].end < s->at[i].end)
                s->at[count - 1].end = s->at[i].end;
        } else {
            s->at[count++] = s->at[i];
        }
    s->count = count;
}

void
glow_bytes_remove(glow_arena *a, bytes_set *s, bytes_run r)
{
    size_t from = run_after(s, r.begin), to = from, kept = 0;
    bytes_run rest[2]; /* of the runs that are cut */

    while (to < s->count && s->at[to].begin < r.end)
        to++;
    if (from == to)
        return;
    if (s->at[from].begin < r.begin)
        rest[kept++] = (bytes_run){s->at[from].begin, r.begin};
    if (s->at[to - 1].end > r.end)
        rest[kept++] = (bytes_run){r.end, s->at[to - 1].end};
    if (kept > to - from)
        s->at = glow_arena_grow(a, s->at, s->count, &s->cap, sizeof(bytes_run));
    memmove(&s->at[from + kept], &s->at[to],
            (s->count - to) * sizeof(bytes_run));
    memcpy(&s->at[from], rest, kept * sizeof(bytes_run));
    s->count = s->count - (to - from) + kept;
}

int64_t
glow_bytes_first_missing(const bytes_set *s, bytes_run r)
{
    size_t i = run_after(s, r.begin);

    if (i == s->count || s->at[i].begin > r.begin)
        return r.begin;
    return s->at[i].end < r.end ? s->at[i].end : -1;
}

bool
glow_bytes_meet(const bytes_set *s, bytes_run r)
{
    size_t i = run_after(s, r.begin);

    return i < s->count && s->at[i].begin < r.end;
}

/*
 * First fit in the order of time, as a run-time allocator does it.
 *
 * Free memory is a list of gaps by address, in chunks that know their largest
 * gap.  The lowest gap that is large enough is found by a scan of the chunks and
 * of one chunk; a gap is merged with its neighbours when a buffer ends.  Time
 * n * sqrt(n) with a small factor, independent of the number of live pairs.
 */

#include <string.h>

#include "irgen/place/strategies.h"

enum { MOST_GAPS = 256 }; /* in a chunk */

typedef glow_place_range gap;

typedef struct chunk {
    int64_t largest;
    uint32_t count;
    gap gaps[MOST_GAPS];
} chunk;

typedef struct heap {
    const glow_place_problem *p;
    chunk **chunks; /* ascending, none empty */
    uint32_t count;
    size_t cap;
    chunk *spare; /* an unused chunk */
} heap;

static void
measure(chunk *c)
{
    c->largest = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        int64_t size = c->gaps[i].end - c->gaps[i].begin;

        c->largest = size > c->largest ? size : c->largest;
    }
}

static void
add_chunk(heap *h, uint32_t at, const gap *gaps, uint32_t count)
{
    chunk *c = h->spare ? h->spare : GLOW_NEW(h->p->arena, chunk);

    h->spare = NULL;
    c->count = count;
    memcpy(c->gaps, gaps, count * sizeof(gap));
    measure(c);
    h->chunks = glow_arena_grow(h->p->arena, h->chunks, h->count, &h->cap,
                                sizeof(chunk *));
    memmove(&h->chunks[at + 1], &h->chunks[at],
            (h->count++ - at) * sizeof(chunk *));
    h->chunks[at] = c;
}

/* The chunk with the last gap that begins at or below `address`; the first chunk
   if there is none. */
static uint32_t
chunk_of(const heap *h, int64_t address)
{
    uint32_t from = 0, to = h->count;

    while (to - from > 1) {
        uint32_t mid = from + (to - from) / 2;

        if (h->chunks[mid]->gaps[0].begin <= address)
            from = mid;
        else
            to = mid;
    }
    return from;
}

/* The first gap of a chunk that ends beyond `address`, or the number of gaps. */
static uint32_t
gap_of(const chunk *c, int64_t address)
{
    return (uint32_t)glow_place_range_after(c->gaps, c->count, address);
}

static void
insert(heap *h, uint32_t at, uint32_t i, gap g)
{
    chunk *c = h->chunks[at];

    if (c->count == MOST_GAPS) {
        uint32_t half = MOST_GAPS / 2;

        add_chunk(h, at + 1, &c->gaps[half], MOST_GAPS - half);
        c->count = half;
        measure(c);
        if (i > half) {
            c = h->chunks[at + 1];
            i -= half;
        }
    }
    memmove(&c->gaps[i + 1], &c->gaps[i], (c->count++ - i) * sizeof(gap));
    c->gaps[i] = g;
    if (g.end - g.begin > c->largest)
        c->largest = g.end - g.begin;
}

static void
erase(heap *h, uint32_t at, uint32_t i)
{
    chunk *c = h->chunks[at];
    int64_t size = c->gaps[i].end - c->gaps[i].begin;

    memmove(&c->gaps[i], &c->gaps[i + 1], (--c->count - i) * sizeof(gap));
    if (c->count > 0) {
        if (size == c->largest)
            measure(c);
        return;
    }
    h->spare = c;
    memmove(&h->chunks[at], &h->chunks[at + 1],
            (--h->count - at) * sizeof(chunk *));
}

/* Removes [begin, end) from the gap that contains it. */
static void
reserve(heap *h, int64_t begin, int64_t end)
{
    uint32_t at = chunk_of(h, begin), i = gap_of(h->chunks[at], begin);
    gap g = h->chunks[at]->gaps[i];

    if (g.begin == begin && g.end == end) {
        erase(h, at, i);
        return;
    }
    if (g.begin < begin)
        h->chunks[at]->gaps[i].end = begin;
    else
        h->chunks[at]->gaps[i].begin = end;
    measure(h->chunks[at]);
    if (g.begin < begin && end < g.end)
        insert(h, at, i + 1, (gap){end, g.end});
}

/* Frees [begin, end), and merges it with the adjacent gaps. */
static void
release(heap *h, int64_t begin, int64_t end)
{
    uint32_t at = chunk_of(h, begin), i = gap_of(h->chunks[at], begin);
    chunk *c = h->chunks[at];
    gap *before = i > 0 && c->gaps[i - 1].end == begin ? &c->gaps[i - 1] : NULL;
    gap *after = i < c->count        ? &c->gaps[i]
                 : at + 1 < h->count ? &h->chunks[at + 1]->gaps[0]
                                     : NULL;

    if (after && after->begin != end)
        after = NULL;
    if (after && before) {
        before->end = after->end;
        measure(c);
        if (i < c->count)
            erase(h, at, i);
        else
            erase(h, at + 1, 0);
    } else if (after) {
        after->begin = begin;
        measure(i < c->count ? c : h->chunks[at + 1]);
    } else if (before) {
        before->end = end;
        measure(c);
    } else {
        insert(h, at, i, (gap){begin, end});
    }
}

/* The lowest offset in a gap at which `x` fits. */
static int64_t
first_fit(const heap *h, const glow_place_item *x)
{
    for (uint32_t k = 0;; k++) {
        const chunk *c = h->chunks[k];

        for (uint32_t i = 0; c->largest >= x->size && i < c->count; i++) {
            const gap *g = &c->gaps[i];
            int64_t at = g->begin;

            if (g->end - at < x->size)
                continue;
            at = glow_place_clear(h->p, x, at);
            if (at <= g->end - x->size)
                return at;
        }
    }
}

int64_t
glow_place_given(glow_place_problem *p)
{
    heap h = {.p = p};
    gap all = {0, INT64_MAX};
    int64_t height = 0;
    uint32_t ended = 0;

    add_chunk(&h, 0, &all, 1);
    for (size_t i = 0; i < p->n_forbidden; i++)
        reserve(&h, p->forbidden[i].begin, p->forbidden[i].end);
    for (uint32_t i = 0; i < p->count; i++) {
        glow_place_item *x = &p->items[i];

        for (; p->items[p->ends[ended]].end <= x->begin; ended++) {
            const glow_place_item *y = &p->items[p->ends[ended]];

            release(&h, y->offset, y->offset + y->size);
        }
        if (!x->is_fixed)
            x->offset = first_fit(&h, x);
        reserve(&h, x->offset, x->offset + x->size);
        if (x->offset + x->size > height)
            height = x->offset + x->size;
    }
    return height;
}

/*
 * Spilling: buffers that leave a full space for the next space of their class.
 *
 * The benefit of a space for a buffer is the number of its uses, each of which
 * moves all of its bytes; its cost is its bytes times its live range.  So buffers
 * compare by uses per time.
 *
 * The load comes first: a sweep over time spills, whenever more bytes are live
 * than the capacity, the live buffer of least worth; among equals the largest.
 * With a heap that takes n log n.  Where fragmentation keeps buffers from
 * fitting, those placed beyond the capacity are spilled, and the others are placed
 * again.  Each round spills a buffer, so the loop ends.
 */

#include "irgen/place/alloc.h"

#include <stdlib.h>

bool
glow_alloc_can_move(const allocator *a, const alloc_buffer *b)
{
    return !glow_is_fixed(b->node) && !b->bound &&
           b->home + 1 < a->homes[b->class].count;
}

/* True if `x`, with fewer uses per time, is spilled before `y`. */
static bool
leaves_before(const allocator *a, const alloc_buffer *x, const alloc_buffer *y)
{
    int64_t all = a->f->count;
    int64_t x_time = (x->end < all ? x->end : all) - x->begin;
    int64_t y_time = (y->end < all ? y->end : all) - y->begin;
    int64_t x_worth = x->uses * y_time, y_worth = y->uses * x_time;

    if (x_worth != y_worth)
        return x_worth < y_worth;
    if (x->size != y->size)
        return x->size > y->size;
    return x < y;
}

/* Heap of live buffers, the next one to spill on top. */

typedef struct heap {
    const allocator *a;
    alloc_buffer **at;
    size_t count;
} heap;

static void
sift_up(heap *h, size_t i)
{
    alloc_buffer *b = h->at[i];

    while (i > 0 && leaves_before(h->a, b, h->at[(i - 1) / 2])) {
        h->at[i] = h->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->at[i] = b;
}

static alloc_buffer *
pop(heap *h)
{
    alloc_buffer *top = h->at[0], *b = h->at[--h->count];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count &&
            leaves_before(h->a, h->at[child + 1], h->at[child]))
            child++;
        if (!leaves_before(h->a, h->at[child], b))
            break;
        h->at[i] = h->at[child];
    }
    h->at[i] = b;
    return top;
}

static int
by_begin(const void *x, const void *y)
{
    const alloc_buffer *a = *(alloc_buffer *const *)x;
    const alloc_buffer *b = *(alloc_buffer *const *)y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a > b) - (a < b);
}

static int
by_end(const void *x, const void *y)
{
    const alloc_buffer *a = *(alloc_buffer *const *)x;
    const alloc_buffer *b = *(alloc_buffer *const *)y;

    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a > b) - (a < b);
}

/* More bytes than the buffers of the function have. */
static int64_t
closed_bytes(const alloc_pool *p)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < p->space.n_forbidden; i++)
        bytes += p->space.forbidden[i].end - p->space.forbidden[i].begin;
    for (size_t i = p->count; i < p->n_lives; i++)
        bytes += p->lives[i].size;
    return bytes;
}

static void
leave(alloc_buffer *b)
{
    b->home++;
}

/* Removes spilled buffers from the pool. */
static bool
drop_gone(const allocator *a, alloc_pool *p)
{
    size_t kept = 0, index = (size_t)(p - a->pools);
    bool any;

    for (size_t i = 0; i < p->count; i++) {
        alloc_buffer *b = p->buffers[i];

        if (glow_is_fixed(b->node) || b->bound ||
            a->homes[b->class].at[b->home] == index)
            p->buffers[kept++] = b;
    }
    any = kept < p->count;
    p->count = kept;
    return any;
}

bool
glow_alloc_spill_load(allocator *a, alloc_pool *p)
{
    size_t size = p->count * sizeof *p->buffers, done = 0, ended = 0;
    alloc_buffer **begins = glow_arena_copy(a->arena, p->buffers, size);
    alloc_buffer **ends = glow_arena_copy(a->arena, p->buffers, size);
    int64_t room = p->space.capacity - closed_bytes(p), load = 0;
    bool *gone = GLOW_NEW_ARRAY(a->arena, bool, a->count);
    heap h = {a, GLOW_NEW_ARRAY(a->arena, alloc_buffer *, p->count), 0};

    if (p->count == 0 || p->space.capacity == INT64_MAX)
        return false;
    glow_sort(begins, p->count, sizeof *begins, by_begin);
    glow_sort(ends, p->count, sizeof *ends, by_end);
    while (done < p->count) {
        alloc_buffer *b = begins[done++];

        for (; ended < p->count && ends[ended]->end <= b->begin; ended++)
            if (!gone[ends[ended] - a->buffers])
                load -= ends[ended]->size;
        load += b->size;
        if (glow_alloc_can_move(a, b)) {
            h.at[h.count++] = b;
            sift_up(&h, h.count - 1);
        }
        while (load > room && h.count > 0) {
            alloc_buffer *worst = pop(&h);

            if (worst->end <= b->begin)
                continue;
            gone[worst - a->buffers] = true;
            load -= worst->size;
            leave(worst);
        }
    }
    return drop_gone(a, p);
}

bool
glow_alloc_spill_top(allocator *a, alloc_pool *p)
{
    alloc_buffer *worst = NULL;

    for (size_t i = 0; i < p->count; i++)
        if (p->lives[i].offset + p->lives[i].size > p->space.capacity &&
            glow_alloc_can_move(a, p->buffers[i]))
            leave(p->buffers[i]);
    if (drop_gone(a, p))
        return true;
    /* Buffers in conflict with a fixed one are worth less than nothing. */
    for (size_t i = 0; i < p->count; i++)
        if (glow_alloc_can_move(a, p->buffers[i]) &&
            (!worst || leaves_before(a, p->buffers[i], worst)))
            worst = p->buffers[i];
    if (worst)
        leave(worst);
    return drop_gone(a, p);
}

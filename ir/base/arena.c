/*
 * Arenas (bump allocation): blocks in a list, each twice the size of the last
 * up to a bound; a large request gets a block of its own.  Memory comes zeroed.
 */

#include "ir/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, BIG = 4096, BIG_ALIGN = 64, LEAST = 1024, MOST = 1 << 22 };

typedef struct block block;
struct block {
    block *next;
    size_t size; /* of `bytes` */
    size_t used;
    _Alignas(BIG_ALIGN) unsigned char bytes[];
};

struct glow_arena {
    block *first; /* the one being filled, then full ones */
    size_t next_size;
    size_t used;
};

static block *
block_new(size_t size)
{
    size_t whole = offsetof(block, bytes) + size;
    block *b = glow_memory_new(whole < size ? SIZE_MAX : whole);

    b->size = size;
    return b;
}

glow_arena *
glow_arena_new(void)
{
    glow_arena *a = calloc(1, sizeof *a);

    if (!a)
        return glow_no_memory(sizeof *a);
    a->next_size = LEAST;
    return a;
}

static void
free_blocks(block *b)
{
    while (b) {
        block *next = b->next;

        glow_memory_free(b, offsetof(block, bytes) + b->size);
        b = next;
    }
}

/* Keeps one block, because passes need as much again and again. */
void
glow_arena_reset(glow_arena *a)
{
    block *kept = a->first && a->first->size <= MOST ? a->first : NULL;

    free_blocks(kept ? kept->next : a->first);
    if (kept) {
        memset(kept->bytes, 0, kept->used);
        kept->used = 0;
        kept->next = NULL;
    }
    a->first = kept;
    a->next_size = LEAST;
    a->used = 0;
}

void
glow_arena_free(glow_arena *a)
{
    if (!a)
        return;
    free_blocks(a->first);
    free(a);
}

/* Allocates a separate block, behind the one being filled. */
static void *
alloc_big(glow_arena *a, size_t size)
{
    block *b = block_new(size);

    b->used = size;
    if (a->first) {
        b->next = a->first->next;
        a->first->next = b;
    } else {
        a->first = b;
    }
    return b->bytes;
}

void *
glow_arena_alloc(glow_arena *a, size_t size)
{
    a->used += size;
    if (size >= BIG)
        return alloc_big(a, size);

    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!a->first || a->first->size - a->first->used < size) {
        while (a->next_size - offsetof(block, bytes) < size)
            a->next_size *= 2;

        block *b = block_new(a->next_size - offsetof(block, bytes));

        b->next = a->first;
        a->first = b;
        if (a->next_size < MOST)
            a->next_size *= 2;
    }

    void *p = a->first->bytes + a->first->used;

    a->first->used += size;
    return p;
}

void *
glow_arena_alloc_array(glow_arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return glow_no_memory(SIZE_MAX);
    return glow_arena_alloc(a, count * size);
}

size_t
glow_arena_used(const glow_arena *a)
{
    return a->used;
}

void *
glow_arena_copy(glow_arena *a, const void *from, size_t size)
{
    void *to = glow_arena_alloc(a, size);

    if (size)
        memcpy(to, from, size);
    return to;
}

char *
glow_arena_strndup(glow_arena *a, const char *text, size_t n)
{
    char *to = glow_arena_alloc(a, n + 1);

    if (n)
        memcpy(to, text, n);
    return to;
}

char *
glow_arena_strdup(glow_arena *a, const char *text)
{
    return glow_arena_strndup(a, text, strlen(text));
}

char *
glow_arena_vprintf(glow_arena *a, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);

    int n = vsnprintf(NULL, 0, fmt, again);

    va_end(again);
    if (n < 0)
        return glow_arena_strdup(a, "");

    char *text = glow_arena_alloc(a, (size_t)n + 1);

    vsnprintf(text, (size_t)n + 1, fmt, ap);
    return text;
}

char *
glow_arena_printf(glow_arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);

    char *text = glow_arena_vprintf(a, fmt, ap);

    va_end(ap);
    return text;
}

void *
glow_arena_grow(glow_arena *a, void *items, size_t count, size_t *cap,
                size_t size)
{
    if (count < *cap)
        return items;

    size_t more = *cap ? *cap * 2 : 8;
    void *grown = glow_arena_alloc_array(a, more, size);

    if (count)
        memcpy(grown, items, count * size);
    *cap = more;
    return grown;
}

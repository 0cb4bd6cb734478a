/* Merge sort: a stable order of any array, the same with every C library. */

#include <string.h>

#include "glow/base.h"

#define SMALL 1024 /* bytes of scratch that stand on the stack */

typedef int (*compare_fn)(const void *a, const void *b);

typedef struct sorter {
    size_t size; /* of an element */
    compare_fn compare;
    char *scratch; /* half of the array */
} sorter;

/* Merges the sorted halves of `at`; of equal elements the left one comes first. */
static void
merge(const sorter *s, char *at, size_t half, size_t count)
{
    const char *left = s->scratch, *left_end = left + half * s->size;
    const char *right = at + half * s->size, *end = at + count * s->size;

    memcpy(s->scratch, at, half * s->size);
    while (left < left_end) {
        bool takes_right = right < end && s->compare(right, left) < 0;
        const char **from = takes_right ? &right : &left;

        memcpy(at, *from, s->size);
        *from += s->size;
        at += s->size;
    }
}

static void
sort(const sorter *s, char *at, size_t count)
{
    size_t half = count / 2;
    char *middle;

    if (count < 2)
        return;
    middle = at + half * s->size;
    sort(s, at, half);
    sort(s, middle, count - half);
    if (s->compare(middle - s->size, middle) > 0)
        merge(s, at, half, count);
}

void
glow_sort(void *at, size_t count, size_t size, compare_fn compare)
{
    _Alignas(max_align_t) char small[SMALL];
    sorter s = {size, compare, small};
    glow_arena *a = NULL;

    if (size > 0 && count / 2 > sizeof small / size) {
        a = glow_arena_new();
        s.scratch = glow_arena_alloc_array(a, count / 2, size);
    }
    sort(&s, at, count);
    if (a)
        glow_arena_free(a);
}

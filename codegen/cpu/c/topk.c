/*
 * Top-k of each row by a bounded heap (Williams, Algorithm 232, CACM 1964):
 * Indices holds a heap of the k best elements so far, with the worst of them on
 * top, and is then sorted in place as in heapsort.  Comparisons: O(n log k).
 * Of equal elements the least index comes first.
 */

#include "codegen/cpu/c/element.h"

typedef struct row {
    const void *in;
    int64_t kind, from;
    bool smallest;
} row;

/* True if element `i` of the row comes after element `j`. */
INLINE bool
is_behind(const row *r, int64_t i, int64_t j)
{
    if (is_before(r->in, r->kind, r->from + j, r->from + i, r->smallest))
        return true;
    return !is_before(r->in, r->kind, r->from + i, r->from + j, r->smallest) &&
           i > j;
}

/* Sift-down: inserts `x` at `at` and restores the heap below. */
INLINE void
sink(const row *r, int64_t *heap, int64_t at, int64_t count, int64_t x)
{
    for (;;) {
        int64_t child = 2 * at + 1;

        if (child + 1 < count && is_behind(r, heap[child + 1], heap[child]))
            child++;
        if (child >= count || !is_behind(r, heap[child], x))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = x;
}

int64_t
glow_c_topk(void *values, int64_t *indices, const void *in, int64_t kind,
            int64_t rows, int64_t size, int64_t k, int64_t smallest)
{
    for (int64_t i = 0; i < rows; i++) {
        row r = {in, kind, i * size, smallest != 0};
        int64_t *heap = indices + i * k;

        for (int64_t j = 0; j < k; j++)
            heap[j] = j;
        for (int64_t j = k / 2; j-- > 0;)
            sink(&r, heap, j, k, heap[j]);
        for (int64_t j = k; j < size; j++)
            if (is_behind(&r, heap[0], j))
                sink(&r, heap, 0, k, j);
        for (int64_t j = k; j-- > 1;) {
            int64_t last = heap[j];

            heap[j] = heap[0];
            sink(&r, heap, 0, j, last);
        }
        for (int64_t j = 0; j < k; j++)
            move(values, i * k + j, in, r.from + heap[j], bytes_of(kind));
    }
    return 0;
}

/*
 * Top-k of each row by a bounded heap (Williams, Algorithm 232, CACM 1964):
 * Indices holds a heap of the k best elements so far, with the worst of them on
 * top, and is then sorted in place as in heapsort.  Comparisons: O(n log k).
 * Of equal elements the least index comes first.
 *
 * Elements of at most 32 bits have keys, unsigned numbers of 32 bits that are the greater
 * the earlier the element comes.  A key and an index are one number of 64 bits, which
 * compares in one instruction.  If many elements of a row are wanted, all of it is sorted
 * by the keys: a radix sort of four digits of 8 bits, which is stable.
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

/* The key of element `i`: NaN has the greatest one, and zeros have the same. */
INLINE uint32_t
key_of(const void *in, int64_t kind, int64_t i, bool smallest)
{
    uint32_t bits, sign = (uint32_t)1 << 31, infinity;

    if (!is_real(kind)) {
        bits = (uint32_t)get_int(in, kind, i);
        bits ^= is_unsigned(kind) ? 0 : sign;
        return smallest ? ~bits : bits;
    }
    if (kind == GLOW_FLOAT)
        bits = ((const uint32_t *)in)[i];
    else
        bits = (uint32_t)((const uint16_t *)in)[i] << 16;
    infinity = kind == GLOW_FLOAT16 ? 0x7c000000u : 0x7f800000u;
    if ((bits & ~sign) > infinity)
        return UINT32_MAX;
    if (bits == sign)
        bits = 0;
    bits ^= (0 - (bits >> 31)) | sign; /* no branch: signs are not predicted */
    return smallest ? ~bits : bits;
}

/* Sift-down in a heap with the least number on top. */
INLINE void
sink_key(uint64_t *heap, int64_t at, int64_t count, uint64_t x)
{
    for (;;) {
        int64_t child = 2 * at + 1;

        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (child >= count || heap[child] >= x)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = x;
}

/* The key and the index of element `i` of a row: of equal keys the least index is first. */
INLINE uint64_t
entry_of(const void *in, int64_t kind, int64_t from, int64_t i, bool smallest)
{
    return (uint64_t)key_of(in, kind, from + i, smallest) << 32 |
           (uint32_t)~(uint32_t)i;
}

/* The k first entries of a row, in order, in `heap`. */
INLINE void
select_entries(uint64_t *heap, const void *in, int64_t kind, int64_t from,
               int64_t size, int64_t k, bool smallest)
{
    for (int64_t j = 0; j < k; j++)
        heap[j] = entry_of(in, kind, from, j, smallest);
    for (int64_t j = k / 2; j-- > 0;)
        sink_key(heap, j, k, heap[j]);
    for (int64_t j = k; j < size; j++) {
        uint64_t x = entry_of(in, kind, from, j, smallest);

        if (k > 0 && x > heap[0])
            sink_key(heap, 0, k, x);
    }
    for (int64_t j = k; j-- > 1;) {
        uint64_t last = heap[j];

        heap[j] = heap[0];
        sink_key(heap, 0, j, last);
    }
}

#define DIGITS 4
#define DIGIT_VALUES 256

/*
 * Sorts the `count` numbers in `from` by their upper halves, from the greatest down; `to`
 * has room for as many.  Returns the sorted numbers, in `from` or in `to`.
 */
INLINE uint64_t *
sort_entries(uint64_t *from, uint64_t *to, int64_t count)
{
    uint32_t at[DIGITS][DIGIT_VALUES];

    for (int d = 0; d < DIGITS; d++)
        for (int i = 0; i < DIGIT_VALUES; i++)
            at[d][i] = 0;
    for (int64_t i = 0; i < count; i++)
        for (int d = 0; d < DIGITS; d++)
            at[d][from[i] >> (32 + 8 * d) & (DIGIT_VALUES - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        uint32_t before = 0;
        uint64_t *swap = from;

        if (at[d][from[0] >> (32 + 8 * d) & (DIGIT_VALUES - 1)] ==
            (uint32_t)count)
            continue;
        for (int i = DIGIT_VALUES; i-- > 0;) {
            uint32_t here = at[d][i];

            at[d][i] = before;
            before += here;
        }
        for (int64_t i = 0; i < count; i++)
            to[at[d][from[i] >> (32 + 8 * d) & (DIGIT_VALUES - 1)]++] = from[i];
        from = to;
        to = swap;
    }
    return from;
}

/*
 * The same of kinds of at most 32 bits, and rows of fewer than 2^32 elements; `scratch` has
 * room for two rows of entries, to sort all of each, or is NULL.
 */
int64_t
glow_c_topk_keys(void *values, int64_t *indices, const void *in, int64_t kind,
                 int64_t rows, int64_t size, int64_t k, int64_t smallest,
                 uint64_t *scratch)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t from = i * size, *to = indices + i * k;
        uint64_t *entries = (uint64_t *)to;

        if (scratch) {
            for (int64_t j = 0; j < size; j++)
                scratch[j] = entry_of(in, kind, from, j, smallest != 0);
            entries = sort_entries(scratch, scratch + size, size);
        } else {
            select_entries(entries, in, kind, from, size, k, smallest != 0);
        }
        for (int64_t j = 0; j < k; j++) {
            to[j] = (int64_t)(uint32_t)~(uint32_t)entries[j];
            move(values, i * k + j, in, from + to[j], bytes_of(kind));
        }
    }
    return 0;
}

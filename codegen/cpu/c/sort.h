/* Bottom-up merge sort of row numbers, as ir/ops/sort.h, inlined. */

#ifndef CODEGEN_CPU_C_SORT_H
#define CODEGEN_CPU_C_SORT_H

#include "codegen/cpu/c/element.h"

/* The rows of elements of a tensor that are sorted. */
typedef struct rows {
    const void *data;
    int64_t kind;
    int64_t first; /* element of row 0 */
    int64_t size;  /* elements of a row */
} rows;

typedef bool (*row_before_fn)(const rows *r, int64_t i, int64_t j);

/*
 * Sorts the `count` row numbers in `from` by bottom-up merge sort, which is
 * stable.  `to` has room for `count` numbers too.  Returns the sorted numbers,
 * in `from` or in `to`.
 */
INLINE int64_t *
sort_rows(const rows *r, row_before_fn before, int64_t *from, int64_t *to,
          int64_t count)
{
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t at = 0; at < count; at += 2 * run) {
            int64_t i = at, middle = at + run < count ? at + run : count;
            int64_t j = middle;
            int64_t end = middle + run < count ? middle + run : count;

            for (int64_t k = at; k < end; k++) {
                bool right =
                    j < end && (i == middle || before(r, from[j], from[i]));

                to[k] = right ? from[j++] : from[i++];
            }
        }

        int64_t *swap = from;

        from = to;
        to = swap;
    }
    return from;
}

#endif

/*
 * Unique slices by sorting: a stable merge sort of slice numbers makes equal
 * slices adjacent, the first occurrence first.
 */

#include "codegen/cpu/c/sort.h"

/*
 * Negative, 0 or positive, as slice `i` orders before, equal to or after `j`.
 */
INLINE int
compare_slices(const void *in, int64_t kind, int64_t size, int64_t i, int64_t j)
{
    for (int64_t k = 0; k < size; k++) {
        int64_t a = i * size + k, b = j * size + k;

        if (is_real(kind)) {
            double x = get_real(in, kind, a), y = get_real(in, kind, b);

            if (x != x || y != y) {
                if ((x != x) != (y != y))
                    return x != x ? 1 : -1;
            } else if (x != y) {
                return x < y ? -1 : 1;
            }
        } else if (is_before(in, kind, a, b, true)) {
            return -1;
        } else if (is_before(in, kind, b, a, true)) {
            return 1;
        }
    }
    return 0;
}

INLINE bool
slice_before(const rows *r, int64_t i, int64_t j)
{
    return compare_slices(r->data, r->kind, r->size, i, j) < 0;
}

/* `scratch`: 3 * `count` numbers. */
int64_t
glow_c_unique(int64_t *first, int64_t *inverse, int64_t *sum, int64_t *groups,
              const void *in, int64_t kind, int64_t count, int64_t size,
              int64_t by_value, int64_t *scratch)
{
    const rows slices = {in, kind, 0, size};
    int64_t *sorted;
    int64_t *head = scratch + 2 * count; /* of each slice's group */
    int64_t found = 0;

    for (int64_t i = 0; i < count; i++)
        scratch[i] = i;
    sorted = sort_rows(&slices, slice_before, scratch, scratch + count, count);
    for (int64_t k = 0; k < count; k++)
        head[sorted[k]] = k > 0 && compare_slices(in, kind, size, sorted[k - 1],
                                                  sorted[k]) == 0
                              ? head[sorted[k - 1]]
                              : sorted[k];
    for (int64_t k = 0; k < count; k++) {
        int64_t i = by_value ? sorted[k] : k;

        sum[k] = 0;
        if (head[i] != i)
            continue;
        inverse[i] = found;
        first[found++] = i;
    }
    for (int64_t i = 0; i < count; i++) {
        inverse[i] = inverse[head[i]];
        sum[inverse[i]]++;
    }
    for (int64_t k = found; k < count; k++)
        first[k] = 0;
    *groups = found;
    return 0;
}

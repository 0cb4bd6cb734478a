/* Bottom-up merge sort of numbers. */

#include "ir/ops/sort.h"

int64_t *
glow_sort_numbers(int64_t *from, int64_t *to, int64_t count,
                  glow_before_fn before, const void *user)
{
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t at = 0; at < count; at += 2 * run) {
            int64_t i = at, middle = at + run < count ? at + run : count;
            int64_t j = middle;
            int64_t end = middle + run < count ? middle + run : count;

            for (int64_t k = at; k < end; k++) {
                bool right =
                    j < end && (i == middle || before(user, from[j], from[i]));

                to[k] = right ? from[j++] : from[i++];
            }
        }

        int64_t *swap = from;

        from = to;
        to = swap;
    }
    return from;
}

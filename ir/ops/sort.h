/* Merge sort of numbers by a comparison function. */

#ifndef IR_OPS_SORT_H
#define IR_OPS_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* True if number `i` comes before number `j`. */
typedef bool (*glow_before_fn)(const void *user, int64_t i, int64_t j);

/*
 * Bottom-up merge sort of the `count` numbers in `from`; stable.  `to` has the
 * same size.  Returns the array with the sorted numbers, one of the two.
 */
int64_t *glow_sort_numbers(int64_t *from, int64_t *to, int64_t count,
                           glow_before_fn before, const void *user);

#endif

/* Putting numbers of things in order. */

#ifndef IR_OPS_SORT_H
#define IR_OPS_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Does thing `i` go before thing `j`? */
typedef bool (*glow_before_fn)(const void *user, int64_t i, int64_t j);

/*
 * Sorts the `count` numbers in `from` by merging runs of twice the length each
 * time: equal ones keep their order.  `to` has as much room.  Returns the sorted
 * ones, in one of the two.
 */
int64_t *glow_sort_numbers(int64_t *from, int64_t *to, int64_t count,
                           glow_before_fn before, const void *user);

#endif

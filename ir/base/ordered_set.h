/*
 * Ordered set of small integers, as a tree of bits with 64 children a node: the
 * van Emde Boas tree's operations at a fixed fan-out.
 */

#ifndef GLOW_IR_BASE_ORDERED_SET_H
#define GLOW_IR_BASE_ORDERED_SET_H

#include "glow/base.h"

typedef struct glow_ordered_set glow_ordered_set;

/* The empty set over 0 to count - 1.  Each operation below takes time in
   proportion to the logarithm of `count` to the base of 64. */
glow_ordered_set *glow_ordered_set_new(glow_arena *a, size_t count);

void glow_ordered_set_insert(glow_ordered_set *s, size_t i);
void glow_ordered_set_erase(glow_ordered_set *s, size_t i);
bool glow_ordered_set_has(const glow_ordered_set *s, size_t i);

/* The greatest member below `i`, or the least one that is not; SIZE_MAX: none.
   `i` may be `count`. */
size_t glow_ordered_set_below(const glow_ordered_set *s, size_t i);
size_t glow_ordered_set_from(const glow_ordered_set *s, size_t i);

#endif

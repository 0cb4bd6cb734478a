/*
 * What is known of the numbers in a value.
 *
 * Bounds come from the operators that make it: a sigmoid is between 0 and 1, a
 * transpose has its operand's.  Work is bounded: at most a few nodes are looked
 * at.
 */

#ifndef GLOW_RANGE_H
#define GLOW_RANGE_H

#include "glow/graph.h"

GLOW_BEGIN

/* Every element is NaN or between the two; infinite where nothing is known. */
typedef struct glow_range {
    double lo, hi;
} glow_range;

GLOW_API glow_range glow_range_of(const glow_value *v);

GLOW_END

#endif

/*
 * Value ranges: bounds of the elements of a value.
 *
 * Bounds follow from the defining operators: a sigmoid is between 0 and 1, a
 * transpose has the range of its operand.  Work is bounded: at most a few nodes
 * are visited.
 */

#ifndef GLOW_RANGE_H
#define GLOW_RANGE_H

#include "glow/graph.h"

GLOW_BEGIN

/* Every element is NaN or between the two; infinite where unknown. */
typedef struct glow_range {
    double lo, hi;
} glow_range;

GLOW_API glow_range glow_range_of(const glow_value *v);

GLOW_END

#endif

/*
 * Observed ranges: the least and the greatest element that values had in the runs
 * of a profile.
 *
 * A range belongs to storage, or to a result of a node of a graph, and stands in
 * the section `ranges` of the text.  It is kept by name: by that of the storage, or
 * by the names of function and node and the number of the result.  A node that takes
 * the name of an erased node, as replacements do, takes its range; a renamed node
 * keeps its own.  A value of another shape than the range was set for has none.
 * Buffers of programs have none.
 *
 * glow/range.h is another thing: bounds that follow from operators.
 */

#ifndef GLOW_PROFILE_H
#define GLOW_PROFILE_H

#include "glow/bins.h"
#include "glow/graph.h"

GLOW_BEGIN

/* The range of a value.  The lists have `channels` numbers each, or are NULL. */
typedef struct glow_value_range {
    float min, max;   /* finite, min <= max */
    int axis;         /* the axis of the channels; -1: there are no lists */
    int64_t channels; /* the size of that axis; 0: there are no lists */
    const float *channel_min,
        *channel_max;          /* as min and max, of each channel */
    const float *channel_mean; /* finite: the mean element */
} glow_value_range;

/* The range of `v`, owned by the module until it is set again; NULL: none. */
GLOW_API const glow_value_range *glow_get_value_range(const glow_value *v);
/*
 * Sets the range of `v` to a copy of `r`.  False if no value can have it: min above
 * max, NaN, infinity, lists that do not fit the axis, a buffer of a program.
 */
GLOW_API bool glow_set_value_range(glow_value *v, const glow_value_range *r);
GLOW_API void glow_remove_value_range(glow_value *v);
/* Removes the ranges of all values of the module. */
GLOW_API void glow_remove_value_ranges(glow_module *m);
/* Gives the values of `to` the ranges that values of `from` have by these names. */
GLOW_API void glow_copy_value_ranges(glow_module *to, const glow_module *from);

GLOW_END

#endif

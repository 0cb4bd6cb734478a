/* Search for a placement, where heuristics do not meet the bound. */

#ifndef IRGEN_PLACE_SEARCH_H
#define IRGEN_PLACE_SEARCH_H

#include "irgen/place/problem.h"

typedef enum glow_place_answer {
    GLOW_PLACE_NONE, /* infeasible */
    GLOW_PLACE_FOUND,
    GLOW_PLACE_STOPPED, /* undecided */
} glow_place_answer;

/*
 * Searches for offsets with which all items, in the order of begins, end at
 * `height` or below.  Sets the offsets of those that are not fixed if it finds
 * some.  Visits at most `*steps` states, and sets that to the number visited.
 */
glow_place_answer glow_place_search(const glow_place_problem *p,
                                    glow_place_item *items, uint32_t count,
                                    int64_t height, int64_t *steps);

#endif

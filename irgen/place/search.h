/* Placement by search, where the orders of place.c do not meet the bound. */

#ifndef IRGEN_PLACE_SEARCH_H
#define IRGEN_PLACE_SEARCH_H

#include "irgen/place/problem.h"

typedef enum glow_place_answer {
    GLOW_PLACE_NONE, /* there is none */
    GLOW_PLACE_FOUND,
    GLOW_PLACE_STOPPED, /* not known yet */
} glow_place_answer;

/*
 * Looks for offsets with which all items end at `height` or below; they are in
 * the order of begins.  Sets the offsets of those that are not fixed if it
 * finds some.  Looks at `*steps` states at most, and sets that to how many it
 * did.
 */
glow_place_answer glow_place_search(const glow_place_problem *p,
                                    glow_place_item *items, uint32_t count,
                                    int64_t height, int64_t *steps);

#endif

/* Placement by search, where the orders of place.c do not meet the bound. */

#ifndef IRGEN_PLACE_SEARCH_H
#define IRGEN_PLACE_SEARCH_H

#include "glow/place.h"

/*
 * Looks for offsets with which all `buffers` end at `height` or below.  Each
 * has a size and a lifetime that are not empty.  Sets them and returns true if
 * it finds some; false if there are none, or after `work`: states that were
 * looked at, times buffers.
 */
bool glow_place_search(glow_arena *a, glow_lifetime *buffers, size_t count,
                       int64_t height, int64_t work);

#endif

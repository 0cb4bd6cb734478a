/*
 * Range addition and range maximum over positions: the live bytes by step, of
 * buffers whose live ranges are added and removed (a segment tree).
 */

#ifndef GLOW_HEIGHTS_H
#define GLOW_HEIGHTS_H

#include "glow/base.h"

GLOW_BEGIN

typedef struct glow_heights glow_heights;

/* Places 0 to count - 1, as high as `start` says; NULL: all 0.  Linear time. */
GLOW_API glow_heights *glow_heights_new(glow_arena *a, size_t count,
                                        const int64_t *start);

/* Adds `by` to the positions from `first` to `last`, both included; no effect if
   the range is empty.  Logarithmic time, as below. */
GLOW_API void glow_heights_add(glow_heights *h, size_t first, size_t last,
                               int64_t by);

/* Maximum over a range of positions; 0 if it is empty. */
GLOW_API int64_t glow_heights_most(const glow_heights *h, size_t first,
                                   size_t last);

/* A height of `by` over the positions from `first` to `last`. */
typedef struct glow_height_range {
    size_t first, last;
    int64_t by;
} glow_height_range;

/*
 * Removes `from` and extends `to` over both, if the maximum there stays at or below
 * `most`; otherwise returns false and changes nothing.
 */
GLOW_API bool glow_heights_join(glow_heights *h, const glow_height_range *from,
                                glow_height_range *to, int64_t most);

/* Bytes of a buffer for comparisons of live bytes, rounded up as allocators do
   it. */
static inline int64_t
glow_life_bytes(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

GLOW_END

#endif

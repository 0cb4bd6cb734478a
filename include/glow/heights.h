/*
 * How high it is at each of many places, when ranges of them are raised and
 * lowered: bytes alive by step, of buffers that come and go.
 */

#ifndef GLOW_HEIGHTS_H
#define GLOW_HEIGHTS_H

#include "glow/base.h"

GLOW_BEGIN

typedef struct glow_heights glow_heights;

/* Places 0 to count - 1, as high as `start` says; NULL: all 0.  Linear time. */
GLOW_API glow_heights *glow_heights_new(glow_arena *a, size_t count,
                                        const int64_t *start);

/* From place `first` to place `last`, both included; nothing if there are none.
   Logarithmic time, as below. */
GLOW_API void glow_heights_add(glow_heights *h, size_t first, size_t last,
                               int64_t by);

/* The greatest of those places; 0 if there are none. */
GLOW_API int64_t glow_heights_most(const glow_heights *h, size_t first,
                                   size_t last);

/* What rises by `by` from place `first` to place `last`. */
typedef struct glow_height_range {
    size_t first, last;
    int64_t by;
} glow_height_range;

/*
 * Takes `from` away and lets `to` cover both, if that is no higher than `most`
 * there; false, and nothing changed, if it is.
 */
GLOW_API bool glow_heights_join(glow_heights *h, const glow_height_range *from,
                                glow_height_range *to, int64_t most);

/* What a buffer of so many bytes counts where lives are compared: allocators
   round up to about that. */
static inline int64_t
glow_life_bytes(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

GLOW_END

#endif

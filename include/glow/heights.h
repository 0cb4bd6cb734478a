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

GLOW_END

#endif

/*
 * Static placement: offsets for buffers whose lifetimes are known.
 *
 * Two buffers that are alive at the same time must not overlap; the height of
 * the whole is to be small.  The problem is NP-hard.  The largest sum of sizes
 * alive at one moment is a lower bound, and usually met.
 */

#ifndef GLOW_PLACE_H
#define GLOW_PLACE_H

#include "glow/base.h"

GLOW_BEGIN

/* A buffer of `size` bytes, alive at the moments `begin` <= t < `end`. */
typedef struct glow_lifetime {
    int64_t begin;
    int64_t end;
    int64_t size;   /* a multiple of the alignment that the offset must have */
    int64_t offset; /* set by glow_place; 0 if the size or the time is 0 */
} glow_lifetime;

/* The order in which buffers are placed, each as low as it fits. */
typedef enum glow_place_order {
    GLOW_PLACE_BEST,      /* all of these, the least height taken */
    GLOW_PLACE_GIVEN,     /* by begin: what an allocator at run time does */
    GLOW_PLACE_SIZE,      /* largest first */
    GLOW_PLACE_LIFETIME,  /* longest first */
    GLOW_PLACE_AREA,      /* largest product of size and time first */
    GLOW_PLACE_LOAD_SIZE, /* from the busiest moment, largest first */
    GLOW_PLACE_LOAD_TIME, /* from the busiest moment, longest first */
} glow_place_order;

/* Their names, "best" to "load-time", ended by NULL: words for an option. */
extern GLOW_API const char *const glow_place_orders[];

typedef struct glow_placement {
    int64_t height;    /* bytes used: the largest offset + size */
    int64_t bound;     /* bytes alive at the busiest moment */
    const char *order; /* what gave it: a name of glow_place_orders,
                          "repaired" or "search" */
} glow_placement;

/*
 * Sets the offset of each of `count` buffers; takes scratch memory from `a`.
 * The result depends on the numbers alone.  False, and nothing set, if a size
 * or a time is negative or the sizes add up to more than 2^63 - 1.
 */
GLOW_API bool glow_place_buffers(glow_arena *a, glow_lifetime *buffers,
                                 size_t count, glow_place_order order,
                                 glow_placement *out);

/* The bytes alive at the busiest moment; the sizes must not overflow. */
GLOW_API int64_t glow_place_bound(glow_arena *a, const glow_lifetime *buffers,
                                  size_t count);

GLOW_END

#endif

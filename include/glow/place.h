/*
 * Static placement: offsets for buffers whose lifetimes are known.
 *
 * Two buffers that are alive at the same time must not overlap; the height of
 * the whole is to be small.  The problem is NP-hard.  The largest sum of sizes
 * alive at one moment is a lower bound, and usually met.
 *
 *     glow_lifetime b[] = {{.begin = 0, .end = 2, .size = 64},
 *                          {.begin = 1, .end = 9, .size = 64, .align = 64}};
 *     glow_placement p;
 *
 *     if (!glow_place_buffers(arena, b, 2, NULL, &p))
 *         ... p.fault says why ...
 */

#ifndef GLOW_PLACE_H
#define GLOW_PLACE_H

#include "glow/base.h"

GLOW_BEGIN

/* A buffer of `size` bytes, live at the moments `begin` <= t < `end`. */
typedef struct glow_lifetime {
    int64_t begin;
    int64_t end;
    int64_t size;
    int64_t offset; /* set by glow_place_buffers, unless it is fixed; 0 if the
                       size or the time is 0 */
    int64_t align;  /* alignment of the offset; 0 is 1 */
    bool is_fixed;  /* `offset` is given */
} glow_lifetime;

/* The addresses `begin` <= x < `end`. */
typedef struct glow_place_range {
    int64_t begin;
    int64_t end;
} glow_place_range;

/* Constraints of the memory. */
typedef struct glow_place_space {
    int64_t capacity; /* bytes; INT64_MAX: no limit */
    int64_t bank;     /* a buffer no larger than a bank, these many bytes, lies
                         within one; each align divides it or is a multiple of
                         it; 0: there are no banks */
    const glow_place_range
        *forbidden; /* ranges without buffers, in any order */
    size_t n_forbidden;
} glow_place_space;

/* Strategies of placement. */
typedef enum glow_place_strategy {
    GLOW_PLACE_AUTO,     /* greedy; then search, within a modest budget */
    GLOW_PLACE_EXACT,    /* greedy; then search until the least is proved */
    GLOW_PLACE_GREEDY,   /* all that follow, the least height taken, improved */
    GLOW_PLACE_GIVEN,    /* by begin: first fit, as at run time */
    GLOW_PLACE_VALLEY,   /* from the bottom up, the lowest valley first */
    GLOW_PLACE_SIZE,     /* largest first */
    GLOW_PLACE_BEST_FIT, /* largest first, where it leaves the least gap */
    GLOW_PLACE_LIFETIME, /* longest first */
    GLOW_PLACE_AREA,     /* largest product of size and time first */
    GLOW_PLACE_LOAD_SIZE, /* from the busiest moment, largest first */
    GLOW_PLACE_LOAD_TIME, /* from the busiest moment, longest first */
} glow_place_strategy;

/* Their names, "auto" to "load-time", ended by NULL: words for an option. */
extern GLOW_API const char *const glow_place_strategies[];

typedef struct glow_place_options {
    glow_place_strategy strategy;
    const glow_place_space *space; /* NULL: anywhere from 0 on */
    int64_t budget; /* steps of the search; 0: the default of the strategy */
    int64_t enough; /* a height that ends the search; 0: the least there is */
} glow_place_options;

/* Faults of a problem, or of a placement. */
typedef enum glow_place_fault {
    GLOW_PLACE_SOUND,
    GLOW_PLACE_NEGATIVE,     /* a size, an align, a fixed offset, a capacity or
                                a bank is negative; or an end before a begin */
    GLOW_PLACE_OVERFLOWS,    /* the sizes add up to more than 2^63 - 1 */
    GLOW_PLACE_ODD_ALIGN,    /* neither align nor bank divides the other */
    GLOW_PLACE_MISALIGNED,   /* an offset is no multiple of align */
    GLOW_PLACE_FORBIDDEN,    /* a buffer overlaps a forbidden range */
    GLOW_PLACE_CROSSES_BANK, /* a buffer that fits a bank spans two */
    GLOW_PLACE_BEYOND,       /* a buffer ends past the capacity */
    GLOW_PLACE_OVERLAPS, /* two buffers that are live together share bytes */
} glow_place_fault;

typedef struct glow_placement {
    int64_t height;         /* bytes used: the largest offset + size */
    int64_t bound;          /* no placement is lower */
    int64_t load;           /* live bytes at the busiest moment */
    int64_t busiest;        /* that moment */
    bool proved;            /* height is the least: it is the bound */
    int64_t steps;          /* of the search */
    const char *by;         /* the algorithm: a name of glow_place_strategies,
                        "repaired" or "search" */
    glow_place_fault fault; /* why there is none, and which buffers are it */
    size_t buffer, other;
} glow_placement;

/*
 * Sets the offset of each of `count` buffers; takes scratch memory from `a`.
 * Options may be NULL: anywhere, GLOW_PLACE_AUTO.  The result depends on the
 * numbers alone.  The caller compares the height with the
 * capacity; if the bound is beyond it too, no placement is within it.
 *
 * False, and no offset set, if the problem has a fault by itself: numbers that
 * make no sense, or fixed buffers where they cannot be.  `out` says which.
 */
GLOW_API bool glow_place_buffers(glow_arena *a, glow_lifetime *buffers,
                                 size_t count,
                                 const glow_place_options *options,
                                 glow_placement *out);

/*
 * Looks for a fault in a placement: all of the above, of every buffer.  Sets
 * the height, and the fault with the buffers that have it; true if there is
 * none.  Takes time n log n.
 */
GLOW_API bool glow_place_check(glow_arena *a, const glow_lifetime *buffers,
                               size_t count, const glow_place_space *space,
                               glow_placement *out);

/* Live bytes at the busiest moment; INT64_MAX if sizes overflow. */
GLOW_API int64_t glow_place_bound(glow_arena *a, const glow_lifetime *buffers,
                                  size_t count);

GLOW_END

#endif

/* The parts of alloc: see alloc.c. */

#ifndef IRGEN_PLACE_ALLOC_H
#define IRGEN_PLACE_ALLOC_H

#include "glow/lifetime.h"
#include "glow/pass.h"
#include "glow/target.h"

typedef enum alloc_placeholders { ALLOC_APART, ALLOC_AMONG } alloc_placeholders;

typedef struct alloc_options {
    int64_t align;
    int64_t capacity;
    int64_t budget;
    int strategy;
    int placeholders; /* alloc_placeholders */
    int64_t gap;
} alloc_options;

/* What gets a place. */
typedef struct alloc_buffer {
    glow_node *node;
    glow_buffer_class class;
    int64_t begin, end, uses;
    int64_t size, align;
    size_t home; /* which of the spaces for its class it is in */
} alloc_buffer;

/* A region, and what lies in it. */
typedef struct alloc_pool {
    glow_region *region;
    glow_place_space space;
    int64_t align;
    alloc_buffer **buffers;
    glow_lifetime *lives; /* of these, then of what lies there already */
    size_t count, cap, n_lives;
    bool is_stale; /* what lies in it has changed */
    glow_placement placement;
} alloc_pool;

typedef struct allocator {
    glow_pass_run *run;
    const alloc_options *options;
    glow_arena *arena;
    glow_func *f;
    alloc_buffer *buffers;
    size_t count;
    alloc_pool *pools;
    size_t n_pools;
    glow_homes homes[GLOW_BUFFER_CLASSES]; /* indices of pools */
} allocator;

/* alloc_pools.c: the regions that there are to be. */
void alloc_make_pools(allocator *a);
/* The regions of the function become those of the pools. */
void alloc_set_regions(allocator *a);
/* The pool of the region called `name`, or NULL. */
alloc_pool *alloc_find_pool(const allocator *a, const char *name);

/* alloc_lives.c: what lies in a region, and when. */

/* Finds the buffers of the program that are at home in the pool. */
void alloc_fill(allocator *a, alloc_pool *p);
/* Their lives, and those of constants that other programs keep there. */
void alloc_make_lives(allocator *a, alloc_pool *p);
/* Bytes behind the buffer that nothing lies in. */
int64_t alloc_gap_behind(const allocator *a, const alloc_pool *p,
                         const alloc_buffer *b);

/* alloc_spill.c: what has to leave a pool that is too small. */

/* Can the buffer go to a further space? */
bool alloc_can_move(const allocator *a, const alloc_buffer *b);
/*
 * Has those buffers leave that are worth least there until the load is within
 * the capacity, or nothing can leave; true if one did.
 */
bool alloc_spill_load(allocator *a, alloc_pool *p);
/* The same for what the placement has beyond the capacity. */
bool alloc_spill_top(allocator *a, alloc_pool *p);

/* alloc_report.c: what cannot be placed, and why. */
bool alloc_too_large(const allocator *a, const alloc_pool *p);
bool alloc_faulty(const allocator *a, const alloc_pool *p);

#endif

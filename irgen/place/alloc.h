/* Parts of the pass alloc: see alloc.c. */

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

typedef struct alloc_pool alloc_pool;

/* A buffer to be placed. */
typedef struct alloc_buffer {
    glow_node *node;
    glow_buffer_class class;
    int64_t begin, end, uses;
    int64_t size, align;
    size_t home;             /* index of its space among those of its class */
    const alloc_pool *bound; /* of the space that it names, or NULL */
} alloc_buffer;

/* A region and its buffers. */
struct alloc_pool {
    glow_region *region;
    glow_place_space space;
    int64_t align;
    alloc_buffer **buffers;
    glow_lifetime *lives; /* of its buffers, then of constants placed before */
    size_t count, cap, n_lives;
    bool is_stale; /* the set of its buffers has changed */
    glow_placement placement;
};

typedef struct allocator {
    glow_pass_run *run;
    const alloc_options *options;
    glow_arena *arena;
    glow_func *f;
    glow_numbering numbers;
    alloc_buffer *buffers;
    size_t count;
    alloc_pool *pools;
    size_t n_pools;
    glow_homes homes[GLOW_BUFFER_CLASSES]; /* indices of pools */
    const alloc_pool *state; /* of state, or NULL: with placeholders */
} allocator;

/* alloc_pools.c: the regions. */
void glow_alloc_make_pools(allocator *a);
/* Binds buffers to the spaces that they name; false after a report (E0334). */
bool glow_alloc_bind(allocator *a);
/* Copies the regions of the pools to the function. */
void glow_alloc_set_regions(allocator *a);
/* The pool of the region `name`, or NULL. */
alloc_pool *glow_alloc_find_pool(const allocator *a, const char *name);

/* alloc.c: true for a buffer that is kept between runs: a constant or state. */
bool glow_alloc_is_kept(const glow_node *n);

/* alloc_lives.c: live ranges. */

/* Finds the buffers of the program whose home is the pool. */
void glow_alloc_fill(allocator *a, alloc_pool *p);
/* Sets their live ranges, and those of what other programs keep there. */
void glow_alloc_make_lives(allocator *a, alloc_pool *p);
/* Padding bytes after the buffer. */
int64_t glow_alloc_gap_behind(const allocator *a, const alloc_pool *p,
                              const alloc_buffer *b);

/* alloc_spill.c: buffers that leave a full pool. */

/* True if the buffer may go to a further space. */
bool glow_alloc_can_move(const allocator *a, const alloc_buffer *b);
/*
 * Spills the buffers of least worth until the load is within the capacity or no
 * buffer can leave; true if one did.
 */
bool glow_alloc_spill_load(allocator *a, alloc_pool *p);
/* Spills the buffers that were placed beyond the capacity. */
bool glow_alloc_spill_top(allocator *a, alloc_pool *p);

/* alloc_report.c: errors. */
bool glow_alloc_too_large(const allocator *a, const alloc_pool *p);
bool glow_alloc_faulty(const allocator *a, const alloc_pool *p);

#endif

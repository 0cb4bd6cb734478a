/* What the ways of placing share: the problem, its bounds, where one fits. */

#ifndef IRGEN_PLACE_PROBLEM_H
#define IRGEN_PLACE_PROBLEM_H

#include "glow/place.h"

typedef struct glow_place_item { /* a buffer, in the order of begins */
    int64_t begin, end, size, align, offset;
    int64_t load;  /* bytes alive at its busiest moment */
    uint32_t from; /* which of the caller's */
    bool is_fixed;
} glow_place_item;

/* Buffers that take no memory at any time are left out. */
typedef struct glow_place_problem {
    glow_arena *arena;
    glow_place_item *items;
    uint32_t count, n_fixed;
    uint32_t *fixed; /* items by offset */
    uint32_t *ends;  /* items by end, then as they are */
    int64_t capacity, bank;
    glow_place_range *forbidden; /* ascending, apart, none empty */
    size_t n_forbidden;
    int64_t load, busiest, bound;
    int64_t pairs; /* of items alive together */
} glow_place_problem;

/* Reads the problem and measures it; false, and a fault, if it has one. */
bool glow_place_take(glow_place_problem *p, glow_arena *a,
                     const glow_lifetime *buffers, size_t count,
                     const glow_place_space *space, glow_placement *fault);

/* The least offset from `offset` on where `x` may lie, by itself. */
int64_t glow_place_fit(const glow_place_problem *p, const glow_place_item *x,
                       int64_t offset);

/* The same, where no fixed item lies either. */
int64_t glow_place_clear(const glow_place_problem *p, const glow_place_item *x,
                         int64_t offset);

/* The next multiple of its alignment from `offset` on that leaves `x` in one
   bank, if it fits in one. */
int64_t glow_place_aligned(const glow_place_problem *p,
                           const glow_place_item *x, int64_t offset);

/* Sorts ranges and joins those that touch; returns how many are left. */
size_t glow_place_merge(glow_place_range *r, size_t count);

/* The first item from `from` on that begins at `time` or later. */
uint32_t glow_place_first_at(const glow_place_problem *p, uint32_t from,
                             int64_t time);

/* Sets the fault that fixed items have; false if there is none. */
bool glow_place_fixed_fault(const glow_place_problem *p, glow_placement *out);

/* Trees: the maximum of ranges of an array.  Node 1 is the root, the leaves
   begin at `leaves`, a power of two. */
uint32_t glow_tree_leaves(uint32_t count);
void glow_tree_set(int64_t *tree, uint32_t leaves, uint32_t i, int64_t value);
int64_t glow_tree_max(const int64_t *tree, uint32_t leaves, uint32_t from,
                      uint32_t to); /* of [from, to); INT64_MIN if empty */

#endif

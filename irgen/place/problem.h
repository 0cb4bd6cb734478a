/* The placement problem, its bounds, and feasible offsets of one item. */

#ifndef IRGEN_PLACE_PROBLEM_H
#define IRGEN_PLACE_PROBLEM_H

#include "glow/place.h"

typedef struct
    glow_place_item { /* a buffer; items are in the order of begins */
    int64_t begin, end, size, align, offset;
    int64_t load;  /* bytes live at the busiest moment of its live range */
    uint32_t from; /* index in the array of the caller */
    bool is_fixed;
} glow_place_item;

/* Buffers without bytes or without a live range are left out. */
typedef struct glow_place_problem {
    glow_arena *arena;
    glow_place_item *items;
    uint32_t count, n_fixed;
    uint32_t *fixed; /* items by offset */
    uint32_t *ends;  /* items by end, then by number */
    int64_t capacity, bank;
    glow_place_range *forbidden; /* ascending, disjoint, none empty */
    size_t n_forbidden;
    int64_t load, busiest, bound;
    int64_t pairs; /* of items that are live together */
} glow_place_problem;

/* Reads and measures the problem; false, and a fault, if it is invalid. */
bool glow_place_take(glow_place_problem *p, glow_arena *a,
                     const glow_lifetime *buffers, size_t count,
                     const glow_place_space *space, glow_placement *fault);

/* The least feasible offset of `x` from `offset` on, in an empty space. */
int64_t glow_place_fit(const glow_place_problem *p, const glow_place_item *x,
                       int64_t offset);

/* The same, beside the fixed items. */
int64_t glow_place_clear(const glow_place_problem *p, const glow_place_item *x,
                         int64_t offset);

/* The next multiple of the alignment from `offset` on that keeps `x` within one
   bank, if it fits in one. */
int64_t glow_place_aligned(const glow_place_problem *p,
                           const glow_place_item *x, int64_t offset);

/* The first of `count` disjoint ascending ranges that ends beyond `address`, or
   `count`. */
size_t glow_place_range_after(const glow_place_range *r, size_t count,
                              int64_t address);

/* Sorts ranges and merges those that touch; returns their number. */
size_t glow_place_merge(glow_place_range *r, size_t count);

/* The first item from `from` on that begins at `time` or later. */
uint32_t glow_place_first_at(const glow_place_problem *p, uint32_t from,
                             int64_t time);

/* Sets the fault of the fixed items; false if there is none. */
bool glow_place_fixed_fault(const glow_place_problem *p, glow_placement *out);

/* Segment trees: the maximum over ranges of an array.  Node 1 is the root, the
   leaves begin at `leaves`, a power of two. */
uint32_t glow_tree_leaves(uint32_t count);
void glow_tree_set(int64_t *tree, uint32_t leaves, uint32_t i, int64_t value);
int64_t glow_tree_max(const int64_t *tree, uint32_t leaves, uint32_t from,
                      uint32_t to); /* of [from, to); INT64_MIN if empty */

#endif

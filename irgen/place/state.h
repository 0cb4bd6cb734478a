/*
 * The state of a search for a placement: the skyline, what is not placed yet,
 * and how to do and undo one step.
 */

#ifndef IRGEN_PLACE_STATE_H
#define IRGEN_PLACE_STATE_H

#include "irgen/place/problem.h"

typedef struct glow_block { /* a buffer */
    int begin, end;         /* sections */
    int64_t size;
    int64_t under;  /* the highest top that it lies above */
    int64_t offset; /* where it was placed */
    bool is_placed;
    int rank;      /* the lower, the earlier it is tried */
    int *crowd;    /* those alive together with it */
    int *position; /* by section: where it stands in the list of that section */
    int n_crowd;
    uint64_t hash;
    const glow_place_item *item;     /* says where it may lie */
    const glow_place_range *blocked; /* where it may not: ascending */
    int n_blocked;
} glow_block;

/* A stretch of time in which the same buffers live. */
typedef struct glow_section {
    int *alive;    /* those not placed yet come first */
    int n_alive;   /* not placed */
    int64_t floor; /* nothing more lies below */
    int64_t top;   /* of what was placed last */
    int64_t left;  /* bytes not placed */
    int64_t slack; /* bytes that may be wasted */
    int bridges;   /* not placed, and going on in the next section */
    bool is_touched;
    double weight; /* 1, and how often it was what failed in this run */
    const glow_place_range *blocked;
    int n_blocked;
} glow_section;

typedef struct glow_change {
    int64_t *where, was;
} glow_change;

typedef struct glow_place_state {
    glow_arena *arena;
    const glow_place_problem *problem;
    bool is_plain; /* no alignment, banks, forbidden ranges, fixed buffers */
    int64_t height;
    glow_block *blocks;
    int64_t *level; /* by block: it cannot lie below */
    int64_t *size;  /* by block, once more: what is asked most lies close */
    int n_blocks, n_sections;
    glow_section *sections;
    int *touched, n_touched;
    int *by_begin, *by_end;       /* blocks in these orders */
    int *first_begin, *first_end; /* by section: in these lists */
    int *stack, n_stack;          /* placed blocks */
    glow_change *trail;
    size_t n_trail, cap_trail;
    int64_t *levels, *sizes;    /* scratch */
    struct glow_rank_key *keys; /* and that of heuristics.c */
    glow_place_range *ranges;
} glow_place_state;

/*
 * Begins a search for a placement of items, in memory of `a`: as much as pairs
 * of them live together.  Those that are fixed are where others cannot be.
 */
void glow_state_begin(glow_place_state *s, glow_arena *a,
                      const glow_place_problem *p, const glow_place_item *items,
                      uint32_t count);

/* Sets the height that nothing may end above; false if that fails already.
   Nothing may be placed yet. */
bool glow_state_set_height(glow_place_state *s, int64_t height);

/* The least offset from `offset` on where block `b` may lie. */
int64_t glow_state_fit(const glow_place_state *s, const glow_block *b,
                       int64_t offset);

/* Places a block at its level, or raises the floor of a section; false if no
   placement can follow. */
bool glow_state_put(glow_place_state *s, int b);
bool glow_state_raise(glow_place_state *s, int section, int64_t floor);

/* Undoes all steps since the stack and the trail were this long. */
void glow_state_undo(glow_place_state *s, int stack, size_t trail);

#endif

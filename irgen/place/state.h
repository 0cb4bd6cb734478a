/*
 * The state of a search for a placement: the skyline, the unplaced blocks, and
 * steps that can be undone.
 */

#ifndef IRGEN_PLACE_STATE_H
#define IRGEN_PLACE_STATE_H

#include "irgen/place/problem.h"

typedef struct glow_block { /* a buffer */
    int begin, end;         /* sections */
    int64_t size;
    int64_t under;  /* the highest top below it */
    int64_t offset; /* once it is placed */
    bool is_placed;
    int rank;      /* ascending order of trial */
    int *crowd;    /* blocks that overlap it in time */
    int *position; /* by section: index in the list of that section */
    int n_crowd;
    uint64_t hash;
    const glow_place_item *item;     /* for its constraints */
    const glow_place_range *blocked; /* blocked ranges, ascending */
    int n_blocked;
} glow_block;

/* An interval of time with one live set. */
typedef struct glow_section {
    int *alive;    /* unplaced blocks first */
    int n_alive;   /* number of unplaced blocks */
    int64_t floor; /* lower bound of offsets of unplaced blocks */
    int64_t top;   /* of the block placed last */
    int64_t left;  /* bytes of unplaced blocks */
    int64_t slack; /* bytes that may be wasted */
    int bridges;   /* unplaced blocks that continue in the next section */
    bool is_touched;
    double weight; /* 1 + the number of failures in it during this run */
    const glow_place_range *blocked;
    int n_blocked;
} glow_section;

typedef struct glow_change {
    int64_t *where, was;
} glow_change;

typedef struct glow_place_state {
    glow_arena *arena;
    const glow_place_problem *problem;
    bool
        is_unconstrained; /* no alignment, banks, forbidden ranges, fixed buffers */
    int64_t height;
    glow_block *blocks;
    int64_t *level; /* by block: lower bound of its offset */
    int64_t *size;  /* by block: a copy of its size, for locality */
    int n_blocks, n_sections;
    glow_section *sections;
    int *touched, n_touched;
    int *by_begin, *by_end;       /* blocks in these orders */
    int *first_begin, *first_end; /* by section: first index in these orders */
    int *stack, n_stack;          /* placed blocks */
    glow_change *trail;
    size_t n_trail, cap_trail;
    int64_t *levels, *sizes;    /* scratch */
    struct glow_rank_key *keys; /* scratch of heuristics.c */
    glow_place_range *ranges;
} glow_place_state;

/*
 * Begins a search for a placement of items.  Memory of `a` is linear in the pairs
 * of items that are live together.  Fixed items become blocked ranges.
 */
void glow_state_begin(glow_place_state *s, glow_arena *a,
                      const glow_place_problem *p, const glow_place_item *items,
                      uint32_t count);

/* Sets the height that nothing may exceed; false if that fails at once.  Nothing
   may be placed yet. */
bool glow_state_set_height(glow_place_state *s, int64_t height);

/* The least feasible offset of block `b` from `offset` on. */
int64_t glow_state_fit(const glow_place_state *s, const glow_block *b,
                       int64_t offset);

/* Places a block at its level, or raises the floor of a section; false if the state
   fails. */
bool glow_state_put(glow_place_state *s, int b);
bool glow_state_raise(glow_place_state *s, int section, int64_t floor);

/* Undoes all steps since the stack and the trail had these lengths. */
void glow_state_undo(glow_place_state *s, int stack, size_t trail);

#endif

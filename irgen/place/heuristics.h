/* What a search for a placement tries first: its taste. */

#ifndef IRGEN_PLACE_HEURISTICS_H
#define IRGEN_PLACE_HEURISTICS_H

#include "irgen/place/state.h"

#define GLOW_PLACE_TASTES 15

/* An end of a valley, and the ways to go on from there. */
typedef struct glow_place_end {
    int section;
    int begin, end;         /* of the valley */
    int64_t before, behind; /* the floors beside it; -1 where it ends a part */
    int ways;
} glow_place_end;

/* Sets the ranks of the blocks as a taste has them. */
void glow_taste_rank(glow_place_state *s, int taste);

/* The lower, the sooner the search goes on from there. */
double glow_taste_end(const glow_place_state *s, int taste,
                      const glow_place_end *e);

/* Sorts blocks that rest there. */
void glow_taste_sort(const glow_place_state *s, int taste,
                     const glow_place_end *e, int *blocks, int count);

#endif

/* Branching heuristics of the search for a placement. */

#ifndef IRGEN_PLACE_HEURISTICS_H
#define IRGEN_PLACE_HEURISTICS_H

#include "irgen/place/state.h"

#define GLOW_PLACE_HEURISTICS 15

/* An end of a valley, and the number of branches there. */
typedef struct glow_place_end {
    int section;
    int begin, end; /* of the valley */
    int64_t before,
        behind; /* the floors beside it; -1 at the boundary of a component */
    int ways;
} glow_place_end;

/* Sets the ranks of the blocks by a heuristic. */
void glow_heuristic_rank(glow_place_state *s, int heuristic);

/* Key of an end: the search branches at the least. */
double glow_heuristic_end(const glow_place_state *s, int heuristic,
                          const glow_place_end *e);

/* Sorts blocks that rest on the end. */
void glow_heuristic_sort(const glow_place_state *s, int heuristic,
                         const glow_place_end *e, int *blocks, int count);

#endif

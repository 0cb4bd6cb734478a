/*
 * Placement heuristics.  Each sets the offsets of all items and returns the
 * height.
 */

#ifndef IRGEN_PLACE_STRATEGIES_H
#define IRGEN_PLACE_STRATEGIES_H

#include "irgen/place/problem.h"

/* First fit in the order of begins. */
int64_t glow_place_given(glow_place_problem *p);

/* Choice among the buffers that fit in a valley. */
typedef enum glow_place_rule {
    GLOW_PLACE_LONGEST,
    GLOW_PLACE_WIDEST, /* the largest product of size and time */
    GLOW_PLACE_LARGEST,
    GLOW_PLACE_RULES,
} glow_place_rule;

/* Bottom-up skyline placement. */
int64_t glow_place_rise(glow_place_problem *p, glow_place_rule rule);

/* First fit, or best fit, in the order of a strategy.  Time is linear in the pairs
   of items that are live together, see glow_place_work. */
int64_t glow_place_in_order(glow_place_problem *p, glow_place_strategy order);

/* Moves the topmost item to the front of the order and places all again, until the
   bound is met or `work` pairs are visited; keeps the best. */
int64_t glow_place_repair(glow_place_problem *p, int64_t work);

/* The incumbent placement. */
typedef struct glow_place_best {
    int64_t height;
    int64_t *offsets;
    const char *name;
} glow_place_best;

/* Updates the incumbent by the offsets of the items if they are better. */
void glow_place_keep(const glow_place_problem *p, glow_place_best *b,
                     const char *name);

/* Searches for a better placement within the budget, down to the height `enough`;
   raises the bound of the problem where it can.  Returns the steps taken. */
int64_t glow_place_improve(glow_place_problem *p, glow_place_best *b,
                           int64_t enough, int64_t budget);

/* Number of pairs of items that one order visits, about. */
int64_t glow_place_work(const glow_place_problem *p);

#endif

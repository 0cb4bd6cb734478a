/*
 * Ways to place all buffers of a problem, without search.  Each sets the
 * offsets of the items and returns the height.
 */

#ifndef IRGEN_PLACE_STRATEGIES_H
#define IRGEN_PLACE_STRATEGIES_H

#include "irgen/place/problem.h"

/* First fit in the order of begins. */
int64_t glow_place_given(glow_place_problem *p);

/* Which of the buffers that fit in the lowest valley comes first. */
typedef enum glow_place_rule {
    GLOW_PLACE_LONGEST,
    GLOW_PLACE_WIDEST, /* the largest product of size and time */
    GLOW_PLACE_LARGEST,
    GLOW_PLACE_RULES,
} glow_place_rule;

/* From the bottom up, the lowest valley of the skyline first. */
int64_t glow_place_rise(glow_place_problem *p, glow_place_rule rule);

/* First fit, or best fit, in the order of a strategy.  Time is that of pairs of
   items alive together, see glow_place_work. */
int64_t glow_place_in_order(glow_place_problem *p, glow_place_strategy order);

/* Moves what is on top to the front of the order and places all again, until
   the bound is met or so much `work` is done; keeps the best. */
int64_t glow_place_repair(glow_place_problem *p, int64_t work);

/* The best placement so far. */
typedef struct glow_place_best {
    int64_t height;
    int64_t *offsets;
    const char *name;
} glow_place_best;

/* Makes that of the items the best, if it is better. */
void glow_place_keep(const glow_place_problem *p, glow_place_best *b,
                     const char *name);

/* Searches for a better placement, with so many steps at most, down to what is
   enough; raises the bound of the problem where it can.  Returns the steps. */
int64_t glow_place_hunt(glow_place_problem *p, glow_place_best *b,
                        int64_t enough, int64_t budget);

/* How many pairs of items one order looks at, about. */
int64_t glow_place_work(const glow_place_problem *p);

#endif

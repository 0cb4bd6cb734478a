/*
 * Which order of axes to compute in: the problem without the graph.
 *
 * A site is a node that works in any order.  Its order is the transpose that
 * its result has gone through, compared with now; at first that is the identity
 * everywhere.  An edge says that `to` reads what `from` gives through a
 * transpose `step`.  It costs nothing if
 *
 *     order(from) = step, then order(to)
 *
 * where an end that is no site keeps its order, and otherwise a transpose of
 * `weight`.  Edges of one `root` that need the same order share it.
 *
 * Finding the least cost is a multiway cut and hard.  Here two ways are tried
 * for each region (sites that edges connect), and the better is taken if it is
 * less than what there is, so that doing it again changes nothing:
 *
 *   - along edges from the heaviest on, sites join and agree with each other and
 *     with the first fixed end that they meet, so that what stays apart is
 *     light, as in a minimum cut of a chain;
 *   - all sites of a region agree.
 *
 * Each group of sites that agree then takes the order that saves most, a few
 * times round.  The time is that of sorting the edges.
 */

#ifndef PASSES_GRAPH_REGIONS_H
#define PASSES_GRAPH_REGIONS_H

#include "passes/graph/axes.h"

/* A permutation, four bits for each axis; those past the rank stay. */
typedef uint32_t axis_order;

#define AXES_AS_THEY_ARE ((axis_order)0x76543210)

axis_order order_of(glow_dims perm);
glow_dims order_dims(axis_order o, int rank);
axis_order order_then(axis_order first, axis_order second);
axis_order order_inverse(axis_order o);

typedef struct region_edge {
    int from, to; /* sites, or -1: fixed; not both */
    int root;     /* numbers what is read: edges of one share transposes */
    axis_order step;
    int64_t weight;
} region_edge;

typedef struct region_problem {
    int sites;
    region_edge *edges;
    int count;
    /* True if a site may have this order. */
    bool (*fits)(const void *user, int site, axis_order o);
    const void *user;
} region_problem;

typedef struct region_plan {
    axis_order *order; /* of each site */
    int *region;       /* of each site, from 0 on */
    int64_t *saved;    /* of each region; 0: its sites are as they were */
    int regions;
} region_plan;

region_plan regions_solve(const region_problem *p, glow_arena *a);

#endif

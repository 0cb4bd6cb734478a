/*
 * Choice of axis orders as a combinatorial problem, independent of the graph.
 *
 * A site is a node that works in any order of axes.  Its order is the transpose
 * of its result relative to the original; initially the identity.  An edge
 * means that `to` reads the result of `from` through a transpose `step`.  It
 * costs nothing if
 *
 *     order(from) = step, then order(to)
 *
 * where an end that is not a site keeps its order; otherwise it costs a
 * transpose of `weight`.  Edges of one `root` that need the same order share
 * it.
 *
 * The least cost is a multiway cut, which is NP-hard (Dahlhaus et al., SIAM J.
 * Computing 23(4), 1994).  Two heuristics are tried for each region (a
 * connected component of sites), and the better is taken if it costs less than
 * the present orders, so that a second run changes nothing:
 *
 *   - greedy contraction: in order of decreasing weight, edges join their sites
 *     to groups, each with at most one fixed end, so that the cut edges are
 *     light, as in a minimum cut of a chain;
 *   - all sites of a region form one group.
 *
 * Each group then takes the order that saves most, in a few rounds.  The time
 * is that of sorting the edges.
 */

#ifndef PASSES_GRAPH_COMMON_REGIONS_H
#define PASSES_GRAPH_COMMON_REGIONS_H

#include "passes/graph/common/axes.h"

/* A permutation, four bits for each axis; those past the rank stay. */
typedef uint32_t axis_order;

#define AXES_AS_THEY_ARE ((axis_order)0x76543210)

axis_order glow_regions_order_of(glow_dims perm);
glow_dims glow_regions_order_dims(axis_order o, int rank);
axis_order glow_regions_order_then(axis_order first, axis_order second);
axis_order glow_regions_order_inverse(axis_order o);

typedef struct region_edge {
    int from, to; /* sites, or -1: fixed; not both */
    int root;     /* number of the value that is read: edges of one root share
                   * transposes */
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
    int64_t *saved;    /* of each region; 0: its sites keep their orders */
    int regions;
} region_plan;

region_plan glow_regions_solve(const region_problem *p, glow_arena *a);

#endif

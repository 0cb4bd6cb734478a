/* Where the nodes of an acyclic graph are drawn, in layers from top to bottom. */

#ifndef GLOW_TOOLS_GLOW_OPT_LAYOUT_H
#define GLOW_TOOLS_GLOW_OPT_LAYOUT_H

#include "glow/base.h"

typedef struct layout_node {
    double width, height; /* given */
    double x, y;          /* its middle, and its top: found */
} layout_node;

typedef struct layout_edge {
    int from, to; /* given */
    bool far;     /* found: too long to be drawn, it would cross everything */
    int n_bends;  /* found: one in each layer between the two */
    double *x, *top, *bottom; /* where it goes down through that layer */
} layout_edge;

typedef struct layout {
    layout_node *nodes;
    int n_nodes;
    layout_edge *edges;
    int n_edges;
    double width, height; /* found */
} layout;

/*
 * Sugiyama, Tagawa, Toda, Methods for Visual Understanding of Hierarchical
 * System Structures, IEEE Trans. SMC 11(2), 1981.  In time proportional to the
 * nodes and edges, but for the sorting of layers.
 */
void layout_run(glow_arena *a, layout *g);

#endif

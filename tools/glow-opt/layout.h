/* Layered drawing of acyclic graphs, from top to bottom. */

#ifndef GLOW_TOOLS_GLOW_OPT_LAYOUT_H
#define GLOW_TOOLS_GLOW_OPT_LAYOUT_H

#include "glow/base.h"

typedef struct layout_node {
    double width, height; /* input */
    double x, y;          /* output: its middle, and its top */
} layout_node;

typedef struct layout_edge {
    int from, to;             /* input */
    bool far;                 /* output: too long to be drawn */
    int n_bends;              /* output: one in each layer in between */
    double *x, *top, *bottom; /* position of each bend */
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
 * System Structures, IEEE Trans. SMC 11(2), 1981.  Time proportional to nodes
 * and edges, except for sorting the layers.
 */
void layout_run(glow_arena *a, layout *g);

#endif

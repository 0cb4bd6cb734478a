/*
 * A drawing under construction: layout.c builds the cells, layout_place.c
 * positions them.
 */

#ifndef GLOW_TOOLS_GLOW_OPT_LAYOUT_CELLS_H
#define GLOW_TOOLS_GLOW_OPT_LAYOUT_CELLS_H

#include "tools/glow-opt/layout.h"

typedef struct cell { /* a node, or a bend of an edge */
    int node;         /* or -1 */
    double width;
    double x;
    double key;   /* to sort by */
    int place;    /* within its layer */
    int *near[2]; /* cells above and below */
    int count[2];
} cell;

typedef struct drawing {
    glow_arena *arena;
    layout *g;
    int *layer; /* of each node */
    int n_layers;
    cell *cells; /* nodes, then bends */
    int n_cells;
    int **rows; /* cells of each layer, in order */
    int *row_count;
} drawing;

/* Sets the x of each cell. */
void layout_place(drawing *d);

#endif

/* Maximum flow by Dinic's algorithm (1970), with an explicit stack. */

#ifndef IRGEN_SCHEDULE_FLOW_H
#define IRGEN_SCHEDULE_FLOW_H

#include "glow/base.h"

enum { GLOW_FLOW_SOURCE, GLOW_FLOW_SINK, GLOW_FLOW_FIRST };

#define GLOW_FLOW_UNLIMITED INT64_MAX

typedef struct glow_arc {
    uint32_t to, next; /* the next arc from the same node; 0: none */
    int64_t room;      /* residual capacity */
} glow_arc;

typedef struct glow_flow {
    glow_arena *a;
    glow_arc *arcs; /* each followed by its reverse, from index 2 */
    size_t n_arcs, cap_arcs;
    uint32_t *first, *next, *level; /* by node */
    uint32_t n_nodes;
    uint32_t *queue; /* nodes of a phase, or the arcs of a path */
    int64_t work;    /* arcs that were looked at */
} glow_flow;

/* A network of at most `nodes` nodes. */
void glow_flow_init(glow_flow *w, glow_arena *a, size_t nodes);
/* Leaves the source and the sink alone. */
void glow_flow_clear(glow_flow *w);
uint32_t glow_flow_add_node(glow_flow *w);
void glow_flow_add_arc(glow_flow *w, uint32_t from, uint32_t to, int64_t room);
/* The maximum flow, and so the least cut, if that is finite.  Afterwards the nodes
   of level 0 are on the side of the sink. */
int64_t glow_flow_push(glow_flow *w);

#endif

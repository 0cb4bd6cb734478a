/* Topological order of the nodes of a graph. */

#ifndef PASSES_GRAPH_COMMON_TOPOLOGY_H
#define PASSES_GRAPH_COMMON_TOPOLOGY_H

#include "glow/pass.h"

/*
 * The f->count nodes of `f`, operands and predicates before their users; in the
 * order of the function where that permits.
 */
glow_node **glow_nodes_in_order(glow_arena *a, glow_func *f);

#endif

/* Outlining: groups of nodes become functions, and Runs of these. */

#ifndef PASSES_GRAPH_COMMON_OUTLINE_H
#define PASSES_GRAPH_COMMON_OUTLINE_H

#include "glow/pass.h"

/*
 * Moves the `count` nodes, which stand in a topological order, into a new body
 * `name`, and appends a Run of it on `device` to their function.  Operands from outside
 * become Inputs, results that are read outside Outputs; constants are read where they
 * are, and a Splat from outside is copied.  Returns the Run, or NULL if no result is
 * read outside: then nothing is changed.
 */
glow_node *glow_outline(glow_arena *a, glow_node **nodes, int count,
                        const char *name, const char *device);

#endif

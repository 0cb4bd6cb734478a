/* The form of inference of a function. */

#ifndef PASSES_GRAPH_COMMON_INFERENCE_H
#define PASSES_GRAPH_COMMON_INFERENCE_H

#include "glow/pass.h"

/*
 * Lets normalizations of `f` take running statistics, drops no elements, and erases Saves
 * to state.  Adds to the numbers of nodes and of Saves; the caller erases what is unused.
 */
void glow_settle_inference(glow_func *f, int *nodes, int *saves);

#endif

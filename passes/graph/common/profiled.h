/* Values that a profile can have: those that insert-profile profiles. */

#ifndef PASSES_GRAPH_COMMON_PROFILED_H
#define PASSES_GRAPH_COMMON_PROFILED_H

#include "glow/graph.h"

/* True if the results of `n` are profiled. */
bool glow_profiles_results(const glow_node *n);
/* True if `f` reads `s` as more than the state of a profile. */
bool glow_profiles_storage(const glow_func *f, const glow_storage *s);

#endif

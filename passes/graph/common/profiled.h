/* Values that a profile can have: those that insert-profile profiles. */

#ifndef PASSES_GRAPH_COMMON_PROFILED_H
#define PASSES_GRAPH_COMMON_PROFILED_H

#include "glow/graph.h"

/* True if the result `v` of a node is profiled. */
bool glow_profiles_result(const glow_value *v);
/*
 * True if `f` reads `s` as more than the state of a profile.  A body does not read an
 * Input that it only returns.
 */
bool glow_profiles_storage(const glow_func *f, const glow_storage *s);
/* The value that graph `f` saves to `s`, or NULL. */
glow_value *glow_saved_to(const glow_func *f, const glow_storage *s);

#endif

/* Saves, gradients among them, and values in the form of others. */

#ifndef PASSES_GRAPH_COMMON_GRADIENTS_H
#define PASSES_GRAPH_COMMON_GRADIENTS_H

#include "glow/pass.h"

/* True of a Save to a placeholder with GradientOf. */
bool glow_is_gradient(const glow_node *n);

/* Saves `v`; false after a report, also where `v` is NULL. */
bool glow_save(glow_builder *b, glow_value *v, glow_value *to);
/* Saves `v` to a new placeholder of its type; NULL after a report, as glow_save. */
glow_storage *glow_save_new(glow_builder *b, const char *name, glow_value *v);

/* The functions below return NULL after a report, and for NULL. */

/* `v` with elements of `kind`. */
glow_value *glow_in_kind(glow_builder *b, glow_value *v, glow_kind kind);
/* The scalar `v`, as often as `shape` has elements. */
glow_value *glow_spread(glow_builder *b, glow_value *v, glow_dims shape);
/* The sum of all elements. */
glow_value *glow_sum(glow_builder *b, glow_value *v);

#endif

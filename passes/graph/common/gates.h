/*
 * State that passes add, and gates: placeholders with {Gate: true}, to which a function
 * saves if a run may change the weights.
 */

#ifndef PASSES_GRAPH_COMMON_GATES_H
#define PASSES_GRAPH_COMMON_GATES_H

#include "glow/pass.h"

/* A new placeholder with {State: true}. */
glow_value *glow_new_state(glow_module *m, const char *name,
                           const glow_type *type);
/* Saves `open`, bool<>, to a new gate; false after a report. */
bool glow_add_gate(glow_builder *b, const char *name, glow_value *open);
/*
 * Takes the Saves to gates off `f`.  *open is true where all were, or NULL if there was
 * none; false after a report.
 */
bool glow_take_gates(glow_builder *b, glow_func *f, glow_value **open);
/* Select(cond, x, y), `cond` a scalar. */
glow_value *glow_where(glow_builder *b, glow_value *cond, glow_value *x,
                       glow_value *y);

/*
 * The factor of the loss, in `kind`: state, and `initial` where that is zero.  NULL after
 * a report.
 */
glow_value *glow_add_loss_scale(glow_builder *b, float initial, glow_kind kind);
/* The factor that was made of the placeholder `kept`, or NULL. */
glow_value *glow_loss_scale(glow_value *kept);

#endif

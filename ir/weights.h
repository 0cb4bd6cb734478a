/* Weights files: where external constants come from. */

#ifndef GLOW_IR_WEIGHTS_H
#define GLOW_IR_WEIGHTS_H

#include "glow/graph.h"

/*
 * Loads the elements of an external constant into s->tensor; false after a
 * report (also for elided ones, which have none).
 */
bool glow_weights_load(glow_storage *s);
/* Closes what loading opened. */
void glow_weights_close(glow_weights *w);

#endif

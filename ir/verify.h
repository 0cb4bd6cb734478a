/* The parts of the verifier, and how they report. */

#ifndef GLOW_IR_VERIFY_H
#define GLOW_IR_VERIFY_H

#include "glow/graph.h"

/*
 * Reports at node `n`, its operator's name before the message; `hint` may be
 * NULL.  Returns false.
 */
bool glow_node_error(const glow_node *n, const char *id, const char *hint,
                     const char *fmt, ...) GLOW_PRINTF(4, 5);

/* Calls: that they end.  Bodies: their formals, and no other placeholders. */
bool glow_verify_calls(glow_func *f);
bool glow_verify_body(glow_func *f);

/* What only programs can do wrong: writes, lifetimes, views, places. */
bool glow_verify_program(glow_func *f);

/* The places of all programs together; each by itself is right. */
bool glow_verify_memory(glow_module *m);

#endif

/* Control flow. */

#ifndef GLOW_OPS_CONTROL_H
#define GLOW_OPS_CONTROL_H

#include "glow/graph.h"

GLOW_BEGIN

/* Control flow: ir/ops/control.c. */

typedef struct glow_if {
    const char *then_; /* Then: the name of a body */
    const char *else_;
} glow_if;

typedef struct glow_loop {
    const char *body;
    int carried;       /* so many Inputs go on to the next iteration */
    int64_t max_trips; /* default 2^20 */
} glow_loop;

typedef struct glow_run {
    const char *body;
    const char *device; /* "": any */
} glow_run;

/*
 * True if Loop `n` of a graph runs *trips iterations whatever its operands are:
 * TripCount is a constant, and the condition always holds.
 */
GLOW_API bool glow_loop_trips(const glow_node *n, int64_t *trips);

extern GLOW_API const glow_op glow_op_if;
extern GLOW_API const glow_op glow_op_loop;
extern GLOW_API const glow_op glow_op_run;

GLOW_END

#endif

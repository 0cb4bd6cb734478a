/*
 * Simulation of a program on the engines of a target, in cycles.
 */

#ifndef GLOW_SIMULATE_H
#define GLOW_SIMULATE_H

#include "glow/graph.h"
#include "glow/target.h"

GLOW_BEGIN

typedef enum glow_simulate_format {
    GLOW_SIMULATE_TEXT,
    GLOW_SIMULATE_JSON, /* one object in one line */
    GLOW_SIMULATE_SVG,  /* a picture: a row for each queue, time to the right */
    GLOW_SIMULATE_TRACE, /* events for chrome://tracing and Perfetto */
} glow_simulate_format;

/*
 * Adds to `b` when each instruction of `f` runs on the queues of `t`, and the
 * bound of the whole.  A copy along a link takes its setup, which those of
 * `outstanding` commands share in part, and its bytes at the rate of the link; an
 * instruction of a unit its work at the rate of the unit, no less than the bytes of
 * its operands at the rates of their spaces.  Instructions of other queues, and of
 * the host, take no time.  False after a report (E0507) if `f` is no program, or
 * the target has no queues.
 */
GLOW_API bool glow_simulate(glow_buf *b, glow_func *f, const glow_target *t,
                            glow_simulate_format format);

GLOW_END

#endif

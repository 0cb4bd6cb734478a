/*
 * insert-dma: copy operands and results of units between scratchpads and the memory of
 * the host.
 *
 *                                         %x.in = alloc float<4> {Space: "in"}
 *                                         %x.in.copy = copy @out %x.in, @in %x
 *     acme.mac @out %y, @in %x, ...   =>  acme.mac @out %y.acc, @in %x.in, ...
 *                                         %y.acc.copy = copy @out %y, @in %y.acc
 *
 * for each operand that the target says the unit of the operator has in another space
 * than the buffer is in.  There is a copy for each use: assign-memory drops those of
 * buffers in the scratchpad already, and double-buffer starts the others earlier.
 */

#include "irgen/spaces.h"

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    return glow_copy_for_units(run, f) ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_insert_dma = {
    .name = "insert-dma",
    .summary = "copy operands of units to their scratchpads, and results back",
    .level = GLOW_PROGRAM,
    .unplaces = true,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Glow copyIn and copyOut of memory hierarchies; this file",
};

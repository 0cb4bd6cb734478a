/*
 * Memory spaces that kernels need: buffers get the space in which the backend
 * needs the operands and results of an instruction; where two instructions differ,
 * or a placeholder or constant has no place there, a copy.
 *
 *                                  %x.tcm = alloc float<4> {Space: "tcm"}
 *                                  %x.tcm.copy = copy @out %x.tcm, @in %x
 *     %y = neg ... @in %x      =>  %y = neg ... @in %x.tcm
 *                                  %x.tcm.free = dealloc @out %x.tcm
 */

#ifndef IRGEN_SPACES_H
#define IRGEN_SPACES_H

#include "glow/pass.h"

/*
 * Does so for all instructions of `f`; without a backend that needs spaces it
 * changes nothing.  False after a report (E0334).
 */
bool glow_give_spaces(glow_pass_run *run, glow_func *f);

#endif

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
#include "glow/target.h"

/*
 * Does so for all instructions of `f`; without a backend that needs spaces it
 * changes nothing.  False after a report (E0334).
 */
bool glow_give_spaces(glow_pass_run *run, glow_func *f);

/*
 * Copies operands and results of the units of the target between the space that the
 * unit has them in and where they are.  Binds a buffer only to the space that alloc
 * prefers for it, so that it stays there.  True if it changed `f`.
 */
bool glow_copy_for_units(glow_pass_run *run, glow_func *f);

/*
 * The name of the space in which the unit for `n` has n->in[i], or n->out[i] if
 * `writes`; NULL: any, or there is no unit.
 */
const char *glow_unit_needs(const glow_target *t, const glow_node *n, int i,
                            bool writes);
/* The name of the space that the buffer is in, or that alloc prefers for it; NULL: the
   target has none. */
const char *glow_space_for(const glow_target *t, const glow_node *buffer);

#endif

/*
 * Scratch: buffers that the kernel of an instruction needs besides operands and
 * results.
 *
 *                                  %top.scratch = alloc int8<4096>
 *     %top = topk ...          =>  %top = topk ... scratch(%top.scratch)
 *                                  %top.scratch.free = dealloc ...
 */

#ifndef IRGEN_SCRATCH_H
#define IRGEN_SCRATCH_H

#include "glow/pass.h"

/*
 * Gives each instruction of `f` a scratch buffer of the size that the backend of
 * the run asks for, and removes that of instructions that need none; without a
 * backend it changes nothing.  False after a report (E0331).
 */
bool glow_give_scratch(glow_pass_run *run, glow_func *f, bool *changed);

#endif

/*
 * Scratch: what the kernel of an instruction works in, besides operands and
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
 * Gives each instruction of `f` a buffer of as many bytes as the backend of the
 * run asks for, and takes it from those that need none; without a backend all
 * stays as it is.  False after a report (E0331).
 */
bool glow_give_scratch(glow_pass_run *run, glow_func *f, bool *changed);

#endif

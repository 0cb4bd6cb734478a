/* Stack bytes of generated code. */

#ifndef CODEGEN_CPU_RUN_FRAMES_H
#define CODEGEN_CPU_RUN_FRAMES_H

#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"

/* Frames of the functions of a module, as LLVM reports them during code generation. */
typedef struct cpu_frames {
    cg *g;
    glow_map *bytes; /* by function name: 1 + bytes */
} cpu_frames;

/* Asks LLVM for the frames of all functions of `g`, from now on. */
void glow_cpu_frames_begin(cpu_frames *f, cg *g);
/*
 * Ends that.  Returns a bound of the stack of each entry function of `p` and of the
 * functions that it calls, without those that the module does not define; call after code
 * generation.
 */
int64_t glow_cpu_frames_end(cpu_frames *f, const cpu_plan *p);

#endif

/* Functions of steps, and calls of them. */

#ifndef CODEGEN_CPU_RUN_STEPS_H
#define CODEGEN_CPU_RUN_STEPS_H

#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"

/* A step's function, and the function of its parts if it is split. */
typedef struct cpu_made {
    cg_value step, part;
} cpu_made;

/* The name of a step's function: "conv_direct.SUFFIX". */
const char *glow_cpu_step_name(glow_arena *a, const cpu_step *s,
                               const char *suffix);

/* Builds the function of `s`, with internal linkage. */
cpu_made *glow_cpu_build_step(cg *g, const cpu_step *s, const char *name,
                              bool debug);
/* Declares the function of `s`, which another module defines. */
cpu_made *glow_cpu_declare_step(cg *g, const cpu_step *s, const char *name);

/* Builds the call of step `s` in `entry`, the function of plan `p`. */
cg_value glow_cpu_call_step(cg *g, const cpu_plan *p, const cpu_step *s,
                            const cpu_made *fn, cg_value entry);

#endif

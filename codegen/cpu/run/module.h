/* From a plan to an LLVM module. */

#ifndef CODEGEN_CPU_RUN_MODULE_H
#define CODEGEN_CPU_RUN_MODULE_H

#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"

typedef struct cpu_build_options {
    /* Also `name.step`, which takes the number of one step besides, and makes
       that one alone. */
    bool steps;
    bool debug;
    /* Functions of steps that call no other are in modules of their own. */
    bool apart;
} cpu_build_options;

/* Builds functions for all steps and the entry function `name`. */
void glow_cpu_build(cg *g, const cpu_plan *p, const char *name,
                    const cpu_build_options *o);

/* Do its steps use registers of matrices (matrix.h)?  The entry then asks for them. */
bool glow_cpu_uses_matrix(const cpu_plan *p);

/* What the function of a step is called that has a module of its own. */
const char *glow_cpu_piece_name(glow_arena *a, const cpu_step *s);

#endif

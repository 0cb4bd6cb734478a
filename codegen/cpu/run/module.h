/* Builds the LLVM module of a plan. */

#ifndef CODEGEN_CPU_RUN_MODULE_H
#define CODEGEN_CPU_RUN_MODULE_H

#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"

/* Results of an entry function besides the number of an instruction that failed. */
enum { CPU_NO_REGISTERS = -1, CPU_INTERRUPTED = -4 };

typedef struct cpu_build_options {
    bool entry; /* builds `name`, and p->entries */
    /* Builds `name.step`, with the number of a step as an additional parameter,
       which runs only this step. */
    bool steps;
    bool debug;
    /* Functions of steps without calls are in modules of their own. */
    bool apart;
} cpu_build_options;

/*
 * Builds functions for all steps, and what calls them: the entry function `name` and
 * p->entries by their symbols, `name.step`, or both.
 */
void glow_cpu_build(cg *g, const cpu_plan *p, const char *name,
                    const cpu_build_options *o);

/*
 * True if a step of `p` uses AMX tiles (matrix.h): the entry function then
 * requests them.
 */
bool glow_cpu_uses_matrix(const cpu_plan *p);

/* The name of the function of a step that has its own module. */
const char *glow_cpu_piece_name(glow_arena *a, const cpu_step *s);

#endif

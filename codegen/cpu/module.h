/* From a plan to an LLVM module. */

#ifndef CODEGEN_CPU_MODULE_H
#define CODEGEN_CPU_MODULE_H

#include "codegen/cpu/gen.h"
#include "codegen/cpu/plan.h"

/*
 * Builds functions for all steps and the entry function `name`.  `steps`: also
 * `name.step`, which takes the number of one step besides, and makes that one
 * alone.
 */
bool glow_cpu_build(cg *g, const cpu_plan *p, const char *name, bool steps,
                    bool debug);

/* Optimizes. */
bool glow_cpu_optimize(cg *g, glow_context *ctx);

/* An object or assembly; NULL after a report. */
LLVMMemoryBufferRef glow_cpu_emit_machine_code(cg *g, glow_context *ctx,
                                               LLVMCodeGenFileType what);

#endif

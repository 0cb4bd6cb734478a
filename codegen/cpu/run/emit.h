/* Writes a placed program to files. */

#ifndef CODEGEN_CPU_RUN_EMIT_H
#define CODEGEN_CPU_RUN_EMIT_H

#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"

/*
 * Builds and optimizes the module of `p` in `g`, which the caller ends.  False
 * after a report.
 */
bool glow_cpu_compile(cg *g, const cpu_plan *p, const char *entry, bool steps,
                      bool debug);
/* Generates an object or assembly from `g`; NULL after a report. */
LLVMMemoryBufferRef glow_cpu_emit_machine_code(cg *g, glow_context *ctx,
                                               LLVMCodeGenFileType what);
/*
 * The same for an object, with a bound of the stack of the entry functions of `p` in
 * bytes.
 */
LLVMMemoryBufferRef glow_cpu_emit_object(cg *g, const cpu_plan *p,
                                         int64_t *stack);

/* "object", "asm", "llvm", "bundle". */
extern const glow_artifact glow_cpu_artifacts[];
bool glow_cpu_emit(glow_func *f, const char *artifact,
                   const glow_target_options *t, const char *path);

#endif

/* Links objects into this process by LLVM ORC. */

#ifndef CODEGEN_CPU_RUN_JIT_H
#define CODEGEN_CPU_RUN_JIT_H

#include "codegen/llvm/llvm.h"
#include "glow/base.h"

typedef struct cpu_jit cpu_jit;

/*
 * Links `count` objects and takes ownership of them.  `debug` registers them
 * with debuggers.  NULL after a report.
 */
cpu_jit *glow_cpu_jit(glow_context *ctx, glow_arena *a,
                      LLVMMemoryBufferRef *objects, int count, bool debug);
/* Links one more object, and takes ownership of it.  False after a report. */
bool glow_cpu_jit_add(cpu_jit *j, LLVMMemoryBufferRef object);
/* The address of function `name`, or NULL after a report. */
void *glow_cpu_jit_find(cpu_jit *j, const char *name);
void glow_cpu_jit_end(cpu_jit *j);

#endif

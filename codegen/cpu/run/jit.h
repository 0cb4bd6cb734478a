/* Running an object in this process, through ORC. */

#ifndef CODEGEN_CPU_RUN_JIT_H
#define CODEGEN_CPU_RUN_JIT_H

#include "codegen/llvm/llvm.h"
#include "glow/base.h"

typedef struct cpu_jit cpu_jit;

/*
 * Links `count` objects, which are taken over.  `debug` announces them to
 * debuggers.  NULL after a report.
 */
cpu_jit *glow_cpu_jit(glow_context *ctx, glow_arena *a,
                      LLVMMemoryBufferRef *objects, int count, bool debug);
/* The address of a function, or NULL after a report. */
void *glow_cpu_jit_find(cpu_jit *j, const char *name);
void glow_cpu_jit_end(cpu_jit *j);

#endif

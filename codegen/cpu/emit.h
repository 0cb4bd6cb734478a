/* Files from a placed program. */

#ifndef CODEGEN_CPU_EMIT_H
#define CODEGEN_CPU_EMIT_H

#include "codegen/cpu/gen.h"
#include "codegen/cpu/plan.h"

/* A C identifier for a symbol: other characters become `_`. */
const char *glow_cpu_c_name(glow_arena *a, const char *name);

/* Plans, builds and optimizes; the caller ends `g`.  False after a report. */
bool glow_cpu_compile(cg *g, cpu_plan **plan, const cpu_target *t,
                      glow_arena *a, glow_func *f, const char *entry,
                      bool steps, bool debug);

bool glow_cpu_emit(glow_func *f, glow_emit what, const glow_target_options *t,
                   const char *path);

/* The bytes of code and constants in an object. */
int64_t glow_cpu_code_size(LLVMMemoryBufferRef object);

#endif

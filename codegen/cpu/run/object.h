/* Optimizes an LLVM module and generates an object. */

#ifndef CODEGEN_CPU_RUN_OBJECT_H
#define CODEGEN_CPU_RUN_OBJECT_H

#include "codegen/cpu/emit/gen.h"

/* Each returns NULL, or the error message of LLVM. */

const char *glow_cpu_verify(cg *g);
const char *glow_cpu_optimize(cg *g);
/* Generates an object or assembly. */
const char *glow_cpu_machine_code(cg *g, LLVMCodeGenFileType what,
                                  LLVMMemoryBufferRef *out);

/* The passes that glow_cpu_optimize runs. */
const char *glow_cpu_passes(const cg *g);

/* The bytes of code and constants in an object. */
int64_t glow_cpu_code_size(LLVMMemoryBufferRef object);

#endif

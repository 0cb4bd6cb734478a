/* Functions that are written in C, for modules that call them: c/README.md. */

#ifndef CODEGEN_CPU_EMIT_LINK_H
#define CODEGEN_CPU_EMIT_LINK_H

#include "codegen/cpu/emit/gen.h"

/* The bitcode of c/all.c. */
extern const unsigned char glow_cpu_bitcode[];
extern const size_t glow_cpu_bitcode_size;

/*
 * The function glow_c_NAME, whose module is linked into this one on the first
 * call.  Its calls are inlined, unless it is declared `noinline`.
 */
cg_value glow_cg_c_function(cg *g, const char *name);

#endif

/*
 * Registers whose length depends on the machine: SVE of AArch64, RVV of RISC-V.
 * Code is generated for one length, and asks for it before it runs.
 */

#ifndef CODEGEN_CPU_EMIT_LENGTH_H
#define CODEGEN_CPU_EMIT_LENGTH_H

#include "codegen/cpu/emit/gen.h"

/* Sets t->rvv_bytes: the least length that the features of `t` promise. */
void glow_cg_probe_length(glow_arena *a, cpu_target *t);

/*
 * Code that gives an i1: true if the machine has registers of a length that the
 * code is not for.  NULL if the code has no such registers.
 */
cg_value glow_cg_length_refused(cg *g);

#endif

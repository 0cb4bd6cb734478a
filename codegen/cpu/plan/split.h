/* Splits the iteration spaces of steps into parts: see kernels/fork.h. */

#ifndef CODEGEN_CPU_PLAN_SPLIT_H
#define CODEGEN_CPU_PLAN_SPLIT_H

#include "codegen/cpu/kernels/kernel.h"

/* Sets the number of parts of the step, and the scratch bytes of each. */
void glow_cpu_split(cpu_step *s);
/*
 * Scratch bytes of all parts of instruction `n` by kernel `k`, if one part
 * needs `scratch` bytes.  The number of parts is estimated from the instruction
 * alone, without the stack of its step.
 */
int64_t glow_cpu_split_scratch(const cpu_target *t, const struct cpu_kernel *k,
                               const glow_node *n, int64_t scratch);

#endif

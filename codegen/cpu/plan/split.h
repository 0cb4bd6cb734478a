/* Deciding how steps are cut into parts: see kernels/fork.h. */

#ifndef CODEGEN_CPU_PLAN_SPLIT_H
#define CODEGEN_CPU_PLAN_SPLIT_H

#include "codegen/cpu/kernels/kernel.h"

/* Decides how many parts the step has, and what they work in. */
void glow_cpu_split(cpu_step *s);
/*
 * The scratch of all parts of instruction `n` by kernel `k`, of which one needs
 * `scratch` bytes, as far as the instruction alone decides how many there are.
 */
int64_t glow_cpu_split_scratch(const cpu_target *t, const struct cpu_kernel *k,
                               const glow_node *n, int64_t scratch);

#endif

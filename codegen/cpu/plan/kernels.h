/* The table of kernels. */

#ifndef CODEGEN_CPU_PLAN_KERNELS_H
#define CODEGEN_CPU_PLAN_KERNELS_H

#include "codegen/cpu/kernels/kernel.h"

extern const cpu_kernel *const glow_cpu_kernels[]; /* ended by NULL */

/* The first kernel for `n`, or NULL. */
const cpu_kernel *glow_cpu_find_kernel(const cpu_target *t, const glow_node *n);

#endif

/* Cost of grouped convolution by vectors, for other kernels that might take it. */

#ifndef CODEGEN_CPU_KERNELS_WINDOW_GROUPED_H
#define CODEGEN_CPU_KERNELS_WINDOW_GROUPED_H

#include "codegen/cpu/kernels/common.h"

/* Cycles of the kernel conv_grouped for `n`; infinity if it does not take that. */
double glow_cpu_grouped_cycles(const cpu_target *t, const glow_node *n);

#endif

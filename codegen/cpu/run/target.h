/* Making targets. */

#ifndef CODEGEN_CPU_RUN_TARGET_H
#define CODEGEN_CPU_RUN_TARGET_H

#include "codegen/cpu/target.h"

/* NULL after a report.  Lives in `a`, but its machine: glow_cpu_target_end. */
cpu_target *glow_cpu_target(glow_context *ctx, glow_arena *a,
                            const glow_target_options *options);

/*
 * What choosing kernels asks, before there is a machine to make code for: that
 * of the widest vectors.  Kernels that are chosen otherwise in the end find the
 * place to work in by themselves.
 */
cpu_target glow_cpu_target_guess(const glow_target_options *options);

/* The options of the backend in `t`, or its defaults. */
const glow_cpu_options *glow_cpu_options_of(const glow_target_options *t);

/*
 * All that code depends on besides the network and the build of this library;
 * and what follows from options, before there is a machine.
 */
const char *glow_cpu_target_words(glow_arena *a, const cpu_target *t);

const char *glow_cpu_options_words(glow_arena *a, const glow_target_options *o);

void glow_cpu_target_end(cpu_target *t);

/* Another machine that makes the same code, for another thread. */
LLVMTargetMachineRef glow_cpu_same_machine(const cpu_target *t);

#endif

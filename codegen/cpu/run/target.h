/* Creation of targets. */

#ifndef CODEGEN_CPU_RUN_TARGET_H
#define CODEGEN_CPU_RUN_TARGET_H

#include "codegen/cpu/target.h"

/*
 * The target of `options`, allocated in `a`; glow_cpu_target_end disposes of
 * its LLVM target machine.  NULL after a report.
 */
cpu_target *glow_cpu_target(glow_context *ctx, glow_arena *a,
                            const glow_target_options *options);

/*
 * A target with the widest vectors, for the selection of kernels before there
 * is a target machine.  If the final selection differs, a kernel gets its
 * scratch from the shared scratch.
 */
cpu_target glow_cpu_target_guess(const glow_target_options *options);

/* The options of the backend in `t`, or its defaults. */
const glow_cpu_options *glow_cpu_options_of(const glow_target_options *t);

/*
 * Text of everything that generated code depends on besides the network and the
 * build of this library; and of the part that the options determine, before
 * there is a target machine.
 */
const char *glow_cpu_target_words(glow_arena *a, const cpu_target *t);

const char *glow_cpu_options_words(glow_arena *a, const glow_target_options *o);

void glow_cpu_target_end(cpu_target *t);

/* A second target machine for the same code, for another thread. */
LLVMTargetMachineRef glow_cpu_same_machine(const cpu_target *t);

#endif

/* Access to a loaded network, for tuning. */

#ifndef CODEGEN_CPU_RUN_EXECUTABLE_H
#define CODEGEN_CPU_RUN_EXECUTABLE_H

#include "codegen/cpu/plan.h"

const cpu_plan *glow_cpu_plan_of(const glow_executable *x);
/*
 * The memory of the placeholders or activations, in which bindings are placed.
 */
uint8_t *glow_cpu_memory_of(const glow_executable *x, cpu_base base);
/*
 * Runs all steps one by one on the present placeholders; least[i] becomes the
 * minimum of itself and the seconds of step i.  False after a report.
 */
bool glow_cpu_time_steps(glow_executable *x, double *least);

/* See glow_backend. */
bool glow_cpu_tune(glow_func *f, const glow_target_options *t,
                   const glow_tune_options *how);

#endif

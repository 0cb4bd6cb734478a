/*
 * Features of this machine compared with those of a target.
 */

#ifndef CODEGEN_CPU_RUN_HOST_H
#define CODEGEN_CPU_RUN_HOST_H

#include "codegen/cpu/target.h"

/* A feature that code for `t` may use and this machine does not have, or NULL. */
const char *glow_cpu_lacks(glow_arena *a, const cpu_target *t);

#endif

/* Tuning files: choices by machine and instruction. */

#ifndef CODEGEN_CPU_RUN_TUNING_H
#define CODEGEN_CPU_RUN_TUNING_H

#include "codegen/cpu/kernels/choice.h"
#include "glow/tuning.h"

/* The choices for one machine by glow_cpu_key, or NULL if there are none. */
const glow_map *glow_cpu_tuned_for(glow_arena *a, const glow_tuning *t,
                                   const char *machine);
/* The choice for instruction `what` on `machine`, or NULL. */
const cpu_choice *glow_cpu_tuning_find(const glow_tuning *t,
                                       const char *machine, const char *what);
/* A copy of `t`, allocated in `a`, which shares texts with `t`. */
glow_tuning *glow_cpu_tuning_copy(glow_arena *a, const glow_tuning *t);
/*
 * Adds a record, or replaces its choice; `note` is a comment, or NULL.  Texts
 * are copied.
 */
void glow_cpu_tuning_add(glow_tuning *t, const char *machine, const char *what,
                         const cpu_choice *c, const char *note);

#endif

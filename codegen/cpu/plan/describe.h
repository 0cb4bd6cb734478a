/* Steps as text. */

#ifndef CODEGEN_CPU_PLAN_DESCRIBE_H
#define CODEGEN_CPU_PLAN_DESCRIBE_H

#include "codegen/cpu/plan.h"

/* An instruction, its attributes and types. */
void glow_cpu_describe_node(glow_buf *b, const glow_node *n);

/* All that the code of a step depends on, as text. */
const char *glow_cpu_describe(glow_arena *a, const cpu_step *s);

#endif

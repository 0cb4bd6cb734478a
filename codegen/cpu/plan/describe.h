/* Text of a step: the key by which equal steps share code. */

#ifndef CODEGEN_CPU_PLAN_DESCRIBE_H
#define CODEGEN_CPU_PLAN_DESCRIBE_H

#include "codegen/cpu/plan.h"

/* Appends an instruction's operator, attributes and types. */
void glow_cpu_describe_node(glow_buf *b, const glow_node *n);

/* Everything that the code of a step depends on, as text. */
const char *glow_cpu_describe(glow_arena *a, const cpu_step *s);

#endif

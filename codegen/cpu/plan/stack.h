/* Stacking element-wise instructions; see plan.h. */

#ifndef CODEGEN_CPU_PLAN_STACK_H
#define CODEGEN_CPU_PLAN_STACK_H

#include "codegen/cpu/plan.h"

/*
 * The slot of a buffer, added if it is not there.  `step`: over the shape of the
 * stack, for each index touches the element there, from `at` on, and no other;
 * NULL: touched in another way.
 */
int glow_cpu_add_slot(cpu_plan *p, cpu_step *s, const glow_value *v,
                      bool written, int64_t at, const glow_dims *step);

/* Is `n` an element-wise instruction, or one that reads like one? */
bool glow_cpu_can_stack(const glow_node *n);
/* Begins a step with `n`. */
void glow_cpu_stack_first(cpu_plan *p, cpu_step *s, const glow_node *n);
/*
 * Adds `n` to the step if that is right; else returns false.  Where the result
 * lies over what the step reads otherwise, it may be right all the same: if all
 * that reads the result stands in the step too, so that it need not be stored.
 * Then they are added with it, up to instruction s->last.
 */
bool glow_cpu_stack_on(cpu_plan *p, cpu_step *s, const glow_node *n);
/* Joins axes that all accesses run through alike, and finds shared slots. */
void glow_cpu_finish_stack(cpu_step *s);

#endif

/* Stacking element-wise instructions; see plan.h. */

#ifndef CODEGEN_CPU_STACK_H
#define CODEGEN_CPU_STACK_H

#include "codegen/cpu/plan.h"

bool glow_cpu_same_range(cpu_range a, cpu_range b);
bool glow_cpu_overlap(cpu_range a, cpu_range b);

/*
 * The slot of a buffer, added if it is not there.  `linear`: its elements are
 * touched in the order of the stack, none elsewhere.
 */
int glow_cpu_add_slot(cpu_plan *p, cpu_step *s, const glow_value *v,
                      bool written, bool linear);

/* Is `n` an element-wise instruction, or one that reads like one? */
bool glow_cpu_can_stack(const glow_node *n);
/* Begins a step with `n`. */
void glow_cpu_stack_first(cpu_plan *p, cpu_step *s, const glow_node *n);
/* Adds `n` to the step if that is right; else returns false. */
bool glow_cpu_stack_on(cpu_plan *p, cpu_step *s, const glow_node *n);
/* Joins axes that all accesses run through alike, and finds shared slots. */
void glow_cpu_finish_stack(cpu_step *s);

#endif

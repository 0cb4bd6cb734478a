/* Fusion of element-wise instructions into stacks; see plan.h. */

#ifndef CODEGEN_CPU_PLAN_STACK_H
#define CODEGEN_CPU_PLAN_STACK_H

#include "codegen/cpu/plan.h"

/*
 * The index of the slot of `v`, which is added if there is none.  `step`:
 * strides over the shape of the stack of an affine access that begins at
 * element `at`; NULL: the access is not affine.
 */
int glow_cpu_add_slot(cpu_plan *p, cpu_step *s, const glow_value *v,
                      bool written, int64_t at, const glow_dims *step);

/* True if `n` is element-wise, or a copy with affine access functions. */
bool glow_cpu_can_stack(const glow_node *n);
/* Makes `n` the first item of a step without a root. */
void glow_cpu_stack_first(cpu_plan *p, cpu_step *s, const glow_node *n);
/*
 * Fuses `n` into the step if that is legal; else returns false.  If the result
 * of `n` overlaps a range that the step accesses otherwise, fusion is still
 * legal if all readers of the result are in the step too, so that it need not
 * be stored.  Then these are added with it, up to instruction s->last.
 */
bool glow_cpu_stack_on(cpu_plan *p, cpu_step *s, const glow_node *n);
/*
 * Collapses axes where all accesses allow it, and sets `shared` of the slots.
 */
void glow_cpu_finish_stack(cpu_step *s);

#endif

/* Which of its choices an instruction gets. */

#ifndef CODEGEN_CPU_PLAN_CHOOSE_H
#define CODEGEN_CPU_PLAN_CHOOSE_H

#include "codegen/cpu/kernels/choice.h"

/* All that tells `n` from instructions that are done otherwise, as text. */
const char *glow_cpu_key(glow_arena *a, const glow_node *n);

/* What t->tuned says of `n`, or NULL. */
const cpu_choice *glow_cpu_tuned_choice(glow_arena *a, const cpu_target *t,
                                        const glow_node *n);

/* Can `n` be done so? */
bool glow_cpu_can_choose(const cpu_target *t, const glow_node *n,
                         const cpu_choice *c);

/*
 * The choices for `n` that may be worth measuring, of all kernels, the best by
 * the cost model first.
 */
void glow_cpu_list_choices(const cpu_target *t, const glow_node *n,
                           cpu_choices *to);

#endif

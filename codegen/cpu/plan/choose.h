/* Lookup and listing of an instruction's choices: kernels with parameters. */

#ifndef CODEGEN_CPU_PLAN_CHOOSE_H
#define CODEGEN_CPU_PLAN_CHOOSE_H

#include "codegen/cpu/kernels/choice.h"

/*
 * The key of `n` in tuning files: its operator, attributes and types, as text.
 * A constant operand is marked with `!`.
 */
const char *glow_cpu_key(glow_arena *a, const glow_node *n);

/* The choice for `n` in t->tuned, or NULL. */
const cpu_choice *glow_cpu_tuned_choice(glow_arena *a, const cpu_target *t,
                                        const glow_node *n);

/* True if the kernel of `c` accepts `n` with the parameters of `c`. */
bool glow_cpu_can_choose(const cpu_target *t, const glow_node *n,
                         const cpu_choice *c);

/*
 * Lists the choices for `n` that may be worth measuring, of all kernels, in
 * order of the cost that the cost model predicts.
 */
void glow_cpu_list_choices(const cpu_target *t, const glow_node *n,
                           cpu_choices *to);

#endif

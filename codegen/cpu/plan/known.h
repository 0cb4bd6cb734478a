/*
 * Kernels that were chosen by the elements of constants, for plans of the same program
 * without these elements.
 */

#ifndef CODEGEN_CPU_PLAN_KNOWN_H
#define CODEGEN_CPU_PLAN_KNOWN_H

#include "codegen/cpu/plan.h"

/*
 * The kernel of `n` by the names that the root was given, of which it takes the next;
 * NULL: it has none, or no kernel of `n->op` asks for elements.
 */
const struct cpu_kernel *glow_cpu_known_kernel(cpu_plan *root,
                                               const glow_node *n);
/* Notes that `k`, or none (NULL), does `n`. */
void glow_cpu_note_kernel(cpu_plan *root, const glow_node *n,
                          const struct cpu_kernel *k);

/* `digest` and the names of the kernels that were noted, as a line. */
const char *glow_cpu_with_known(const cpu_plan *root, const char *digest);
/* The names in such a line. */
const char *glow_cpu_known_names(const char *line);

#endif

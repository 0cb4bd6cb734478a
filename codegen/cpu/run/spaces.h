/* Memory spaces: a pointer for each region of a bundle, and each placeholder in this process. */

#ifndef CODEGEN_CPU_RUN_SPACES_H
#define CODEGEN_CPU_RUN_SPACES_H

#include "codegen/cpu/plan.h"

/* Entry function `i` of `root`, from 0 to root->n_entries; the first is `root`. */
cpu_plan *glow_cpu_entry_at(const cpu_plan *root, int i);

/*
 * Gives each region of placeholders and activations behind the first, and that of state, a
 * pointer of its own, which the entry functions of `root` take behind their other
 * parameters: p->spaces.
 */
void glow_cpu_separate_spaces(cpu_plan *root);

/*
 * Gives placeholders of `p`, the plan of code for this process, pointers of their own in a
 * table, which its entry function takes behind its other parameters, so that the code
 * works on the tensors of the caller.  Placeholders without one have their memory in
 * common with other buffers, have strides, or are written before a step that may fail
 * though they are no state.
 */
void glow_cpu_separate_placeholders(cpu_plan *p);

/* The number of parameters of the entry function of `p`. */
int glow_cpu_count_params(const cpu_plan *p);

/* Location of a byte of a base: in p->spaces[space], or in the base itself if that is -1. */
typedef struct cpu_location {
    int space;
    int64_t offset; /* from the pointer */
} cpu_location;

cpu_location glow_cpu_locate(const cpu_plan *p, cpu_base base, int64_t offset);
/* Bytes behind the pointer of `base`, without those of p->spaces. */
int64_t glow_cpu_base_size(const cpu_plan *p, cpu_base base);

#endif

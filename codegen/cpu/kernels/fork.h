/*
 * Fork and join of a step's units over threads, partitioned at compile time.
 *
 * The function of a split step takes a range of its kernel's units as well.
 * The entry hands a `part` function to the thread pool,
 *
 *     parallel(pool, part, work, parts)
 *
 * which calls part(work, i) once for each i less than `parts`, in any order and
 * on any threads, and returns when all have returned; where `parallel` is NULL
 * the entry computes all units itself.  `work` is an array of the step's
 * arguments. The code of a unit does not depend on the part that it falls in,
 * so results are bit-identical for every number of threads and parts.
 */

#ifndef CODEGEN_CPU_KERNELS_FORK_H
#define CODEGEN_CPU_KERNELS_FORK_H

#include "codegen/cpu/kernels/kernel.h"

/* Parameters of a threaded entry, after the base pointers. */
enum { CPU_PARALLEL = CPU_BASES, CPU_POOL, CPU_THREADED };

/* Number of pointer parameters of entry functions and of those of bodies. */
int glow_cpu_entry_params(const cpu_target *t);

/*
 * parallel(pool, part, work, parts), or where `parallel` is NULL part(work, i) for
 * each i less than `parts`.
 */
void glow_cpu_fork(cg *g, cg_value parallel, cg_value pool, cg_value part,
                   cg_value work, int parts);

/* Entry `i` of `work`, an array of pointers. */
cg_value glow_cpu_work_at(cg *g, cg_value work, int i);

/* The part function of the step whose function is `step`. */
cg_value glow_cpu_part_function(cg *g, const cpu_step *s, cg_value step,
                                const char *name);

/*
 * Calls a step that is split, on `count` arguments without the range, from
 * `entry`; its code if it can fail, else 0.
 */
cg_value glow_cpu_call_parts(cg *g, const cpu_step *s, cg_value step,
                             cg_value part, cg_value entry, cg_value *args,
                             int count);

#endif

/* Builds the plan of a placed program, and queries of a finished plan. */

#ifndef CODEGEN_CPU_PLAN_PLAN_H
#define CODEGEN_CPU_PLAN_PLAN_H

#include "codegen/cpu/plan.h"

/*
 * The plan of `f`, allocated in `a`; NULL after a report.  `layout`, or NULL, is that of
 * glow_cpu_constants_layout for the same program: its kernels are taken where constants
 * decide, whose elements may be elided then.
 */
cpu_plan *glow_cpu_plan(glow_arena *a, const cpu_target *t, glow_func *f,
                        const char *layout);
/* The same of `count` entry functions, 1 or more: the first one's, with `entries`. */
cpu_plan *glow_cpu_plan_all(glow_arena *a, const cpu_target *t,
                            glow_func *const *f, int count);

/*
 * The plan, `p` (a root) or one of its bodies, whose instruction failed with
 * `code`.
 */
const cpu_plan *glow_cpu_failed(const cpu_plan *p, int code);

/*
 * Scratch bytes of instruction `n`, which calls functions: the largest memory
 * of a callee. 0 while a callee is not placed.
 */
int64_t glow_cpu_call_scratch(const glow_node *n);

/*
 * Lays out the constants: see constants.c.  Before, each is at its offset in
 * the program, and `packed` of a step is an index into the plan's constants.
 */
void glow_cpu_lay_constants(cpu_plan *root);

/*
 * The layout after that, a line in the arena of the plan: SHA-256 of offsets, sizes and
 * keys of all constants, not of their bytes, and the names of known.h.
 */
const char *glow_cpu_constants_layout(const cpu_plan *root);

/*
 * Fills the constants region of p->size[CPU_CONSTANTS] zeroed bytes, on threads
 * of the pool, one constant per part.  `consumes`: frees the elements of large
 * constants after their last use.  False after a report.
 */
bool glow_cpu_fill_constants(const cpu_plan *p, cpu_pool *pool, uint8_t *to,
                             bool consumes);

#endif

/* Making the plan of a placed program, and what is asked of a whole one. */

#ifndef CODEGEN_CPU_PLAN_PLAN_H
#define CODEGEN_CPU_PLAN_PLAN_H

#include "codegen/cpu/plan.h"

/*
 * NULL after a report.  Lives in `a`; marks the nodes of `f` and of the bodies
 * that it calls.
 */
cpu_plan *glow_cpu_plan(glow_arena *a, const cpu_target *t, glow_func *f);

/* The plan whose instruction a failure of plan `p`, a root, comes from. */
const cpu_plan *glow_cpu_failed(const cpu_plan *p, int code);

/*
 * The bytes that an instruction works in which calls functions: the memory of
 * one of them.  0 where they have no places yet.
 */
int64_t glow_cpu_call_scratch(const glow_node *n);

/* Where the bytes of a buffer or view lie. */
cpu_range glow_cpu_range(const cpu_plan *p, const glow_value *v);

/*
 * Gives what steps read of constants its place: constants.c.  Until then each
 * lies where the program has it, and a step knows what is packed for it by number.
 */
void glow_cpu_lay_constants(cpu_plan *root);

/* The digest of all that there is of constants then, and where, but its bytes. */
void glow_cpu_constants_layout(const cpu_plan *root, char hex[65]);

/*
 * Fills the constants region, of p->size[CPU_CONSTANTS] zeroed bytes; on threads
 * of the pool, each constant on one.
 */
bool glow_cpu_fill_constants(const cpu_plan *p, cpu_pool *pool, uint8_t *to,
                             bool consumes);

#endif

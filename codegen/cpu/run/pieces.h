/*
 * A network as several objects, for this process: one for the function of each
 * distinct step, and one for all other functions.  They are compiled on several
 * threads, except those in the cache.
 */

#ifndef CODEGEN_CPU_RUN_PIECES_H
#define CODEGEN_CPU_RUN_PIECES_H

#include "codegen/cache.h"
#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"
#include "codegen/cpu/pool.h"

typedef struct cpu_objects {
    LLVMMemoryBufferRef *at;
    int count;
} cpu_objects;

/*
 * Compiles all of `p`, with the function `entry`.  The objects do not depend on the
 * number of threads.  False after a report.
 */
bool glow_cpu_make_objects(const cpu_plan *p, const char *entry, cpu_pool *pool,
                           glow_cache *cache, cpu_objects *out);

/*
 * Compiles the function `entry.step`, which calls functions of the objects of `p`.
 * NULL after a report.
 */
LLVMMemoryBufferRef glow_cpu_make_stepper(const cpu_plan *p, const char *entry);

#endif

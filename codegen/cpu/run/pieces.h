/*
 * A network as several objects, for this process: one for each function of a
 * step, and one for the rest.  They are made on several threads, and those that
 * the cache knows are not made at all.
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
 * Compiles all of `p`, with `entry` and `entry.step`.  The same objects come out
 * on any number of threads.  False after a report.
 */
bool glow_cpu_make_objects(const cpu_plan *p, const char *entry, cpu_pool *pool,
                           glow_cache *cache, cpu_objects *out);

#endif

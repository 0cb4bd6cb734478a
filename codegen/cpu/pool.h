/*
 * Threads that share work with whoever brings it.
 *
 * There is one pool in a process, so that several networks do not take more
 * threads than there are processors.  It does one job at a time: who comes while
 * another is under way does all parts of its own alone.
 */

#ifndef CODEGEN_CPU_POOL_H
#define CODEGEN_CPU_POOL_H

#include <stdint.h>

/*
 * Goes before a function that calls generated code.  Clang's check of function types
 * reads what lies before the code that is called, where there may be no memory.
 */
#ifdef __clang__
#define CPU_CALLS_CODE __attribute__((no_sanitize("function")))
#else
#define CPU_CALLS_CODE
#endif

/* What one network takes of it. */
typedef struct cpu_pool {
    int threads; /* for each of its jobs, the caller's among them; at least 1 */
} cpu_pool;

typedef void (*cpu_part_fn)(void *work, uintptr_t part);

/*
 * Starts what is missing for jobs of `threads` threads, as far as there are any
 * to be had.  The threads end when all who have opened have closed.
 */
void glow_cpu_pool_open(cpu_pool *p, int threads);
void glow_cpu_pool_close(cpu_pool *p);

/*
 * Calls part(work, i) once for each i < `parts`, on this thread and on others,
 * and returns when all have returned.  `pool` is a cpu_pool.
 */
void glow_cpu_pool_run(void *pool, cpu_part_fn part, void *work,
                       uintptr_t parts);

/* How many processors this process may use. */
int glow_cpu_processors(void);

#endif

/*
 * A thread pool for parallel loops.
 *
 * There is one pool in a process, so that several networks do not take more
 * threads than there are processors.  It runs one job at a time: a caller that
 * comes while another job is running runs all its parts on its own thread.
 */

#ifndef CODEGEN_CPU_POOL_H
#define CODEGEN_CPU_POOL_H

#include <stdint.h>

/*
 * An attribute of functions that call generated code.  Clang's check of
 * function types reads the bytes before the called code, which may be unmapped.
 */
#ifdef __clang__
#define CPU_CALLS_CODE __attribute__((no_sanitize("function")))
#else
#define CPU_CALLS_CODE
#endif

/* The share of one network in the pool. */
typedef struct cpu_pool {
    int threads; /* per job, the caller's included; at least 1 */
} cpu_pool;

typedef void (*cpu_part_fn)(void *work, uintptr_t part);

/*
 * Starts the threads that jobs of `threads` threads lack, as far as the system
 * allows.  The threads end when every glow_cpu_pool_open has had its
 * glow_cpu_pool_close.
 */
void glow_cpu_pool_open(cpu_pool *p, int threads);
void glow_cpu_pool_close(cpu_pool *p);

/*
 * Calls part(work, i) once for each i < `parts`, on this thread and on others,
 * and returns when all have returned.  `pool` is a cpu_pool.
 */
void glow_cpu_pool_run(void *pool, cpu_part_fn part, void *work,
                       uintptr_t parts);

/* The number of processors that this process may use. */
int glow_cpu_processors(void);

#endif

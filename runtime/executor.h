/*
 * Executors as tables of functions: each gives the queues of devices lanes, on which
 * their commands run.
 */

#ifndef RUNTIME_EXECUTOR_H
#define RUNTIME_EXECUTOR_H

#include <stdatomic.h>

#include "glow/executor.h"

struct run_queue;

/* The commands of one queue, of which `slots` run at once. */
typedef struct run_lane run_lane;

typedef struct run_executor_kind {
    const char *name;
    /* NULL after a report. */
    glow_executor *(*open)(glow_context *ctx);
    void (*close)(glow_executor *x); /* no lane is left */
    /* NULL: a thread cannot be started. */
    run_lane *(*add)(glow_executor *x, struct run_queue *q, int slots);
    /* Calls glow_run_queue_step once, later and on another thread. */
    void (*wake)(run_lane *l);
    /* Waits for the calls that have begun, and frees the lane. */
    void (*end)(run_lane *l);
} run_executor_kind;

/* The first member of the executor of any kind. */
struct glow_executor {
    const run_executor_kind *kind;
    atomic_llong commands; /* that ran */
};

extern const run_executor_kind glow_run_executor_serial;
extern const run_executor_kind glow_run_executor_threads;
extern const run_executor_kind glow_run_executor_starpu;

#endif

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
    /* Calls glow_run_queue_step once, after `wake` and the end of the command that called it. */
    void (*wake)(run_lane *l);
    /* Waits for the calls that have begun, and frees the lane. */
    void (*end)(run_lane *l);
    /*
     * The thread that calls `wake` may keep the command, and run it once it has done all else.
     * NULL, all three: it does not.
     */

    /*
     * Lets a thread that is not of the executor keep the next command, until run_kept; false:
     * it is of one, or keeps already.
     */
    bool (*keep)(glow_executor *x);
    /*
     * Runs kept commands until is_done(user), which may come late, and gives the last one to
     * another thread.  `is_done` NULL: runs none.
     */
    void (*run_kept)(bool (*is_done)(void *user), void *user);
    /* Gives a kept command to another thread. */
    void (*share)(void);
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

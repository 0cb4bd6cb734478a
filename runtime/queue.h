/*
 * Queues of commands: those that are ready run by priority, then in the order of
 * their coming, on one thread or several.
 */

#ifndef RUNTIME_QUEUE_H
#define RUNTIME_QUEUE_H

#include "glow/runtime.h"

typedef struct run_queue run_queue;

/*
 * Does the work of a command on thread `worker` of the queue.  GLOW_RUN_DONE, or the
 * outcome of the failure, with r->text.
 */
typedef glow_outcome (*run_work_fn)(void *work, int worker, glow_report_text *r);

/* `workers` threads; 0: commands run in glow_run_queue_put, or in the thread that
 * reaches the fence that they wait for.  NULL: a thread cannot be started. */
run_queue *glow_run_queue_new(int workers);
/* Cancels commands that have not started, waits for others, and ends the queue; NULL is
 * fine. */
void glow_run_queue_end(run_queue *q);

/*
 * Puts in `work`, which is freed with free() after it has run, or has been dropped:
 * then c->signal has failed.  The timelines of `c` are kept as long.
 */
void glow_run_queue_put(run_queue *q, const glow_command *c, run_work_fn fn,
                        void *work);
/*
 * Fails commands that could start, of `t`, or all if it is NULL.  Others hear of it
 * by their fences.
 */
void glow_run_queue_cancel(run_queue *q, glow_timeline *t, glow_outcome outcome,
                           const char *text);

#endif

/*
 * Queues of commands: those that are ready run by priority, then in the order of
 * their coming, where the executor has them run.
 */

#ifndef RUNTIME_QUEUE_H
#define RUNTIME_QUEUE_H

#include "glow/executor.h"
#include "glow/runtime.h"

typedef struct run_queue run_queue;

/*
 * Does the work of a command, the only one in slot `slot` of the queue.  GLOW_RUN_DONE, or the
 * outcome of the failure, with r->text.
 */
typedef glow_outcome (*run_work_fn)(void *work, int slot, glow_report_text *r);

/*
 * `slots` commands run at once, if the executor allows; NULL: on threads of its own.
 * NULL: a thread cannot be started.
 */
run_queue *glow_run_queue_new(glow_executor *x, int slots);
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
/*
 * Runs the first command that is ready, if there is one; for executors.  *ends is true while
 * the command has done its work and its fences are told; `ends` may be NULL.
 */
void glow_run_queue_step(run_queue *q, int slot, bool *ends);

#endif

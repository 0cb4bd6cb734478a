/* The loop of a worker: claim, run, record. */

#include <inttypes.h>
#include <signal.h>
#include <time.h>

#include "tools/glow-work/work.h"

static volatile sig_atomic_t ending;

static void
end(int number)
{
    (void)number;
    ending = 1;
}

/* The first error of a try, which goes into the database. */
typedef struct report {
    glow_arena *arena;
    const char *text;
} report;

static void
keep_first(const glow_diag *d, void *user)
{
    report *r = user;

    if (d->severity == GLOW_ERROR && !r->text)
        r->text = glow_arena_printf(r->arena, "%s: %s", d->id, d->message);
}

typedef struct worker {
    work *work;
    work_queue *queue;
    work_runner *runner;
    glow_arena *arena; /* of a job */
    int64_t jobs, samples, given_up;
} worker;

/* Tells of a try that failed. */
static void
say(worker *x, const work_job *j, const char *why, bool give_up)
{
    tool *t = &x->work->tool;
    int64_t tries = x->work->values.tries;

    if (!why)
        why = "its workers ended while they ran it";
    if (give_up)
        glow_error_hint(
            t->ctx, (glow_span){0}, "E1107",
            glow_arena_printf(x->arena, "glow-work resume %s", j->of.name),
            "%s, samples %" PRId64 " to %" PRId64 ": given up after %" PRId64
            " tries: %s",
            j->of.name, j->first, j->first + j->count - 1, tries, why);
    else
        glow_warning_hint(
            t->ctx, (glow_span){0}, "W1102",
            "a worker tries the job again after -retry-ms, until -tries are spent",
            "%s, samples %" PRId64 " to %" PRId64 ": try %d of %" PRId64
            " failed: %s",
            j->of.name, j->first, j->first + j->count - 1, j->try, tries, why);
}

static work_reply
run(worker *x, work_job *j)
{
    const work_values *v = &x->work->values;
    tool *t = &x->work->tool;
    report first = {.arena = x->arena};
    bool exhausted = j->try > v->tries, ok = false, give_up;
    work_reply reply;

    work_name_files(t, &j->of);
    if (!exhausted) {
        glow_context_set_sink(t->ctx, keep_first, &first);
        ok = work_run_chunk(x->runner, &j->of, j->set, j->first, j->count);
        glow_context_set_sink(t->ctx, tool_show, t);
    }
    give_up = !ok && j->try >= v->tries;
    reply =
        ok ? work_queue_done(x->queue, j)
           : work_queue_failed(x->queue, j, first.text, give_up, v->retry_ms);
    if (reply == WORK_LOST)
        glow_warning_hint(
            t->ctx, (glow_span){0}, "W1103",
            "nothing needs to be done: the job is run again; a longer -lease lets a worker be stopped for longer",
            "%s, samples %" PRId64 " to %" PRId64 ": try %d does not count: "
            "the lease or the connection ended before it did",
            j->of.name, j->first, j->first + j->count - 1, j->try);
    if (reply != WORK_OK)
        return reply;
    x->jobs += ok;
    x->samples += ok ? j->count : 0;
    x->given_up += give_up;
    if (!ok)
        say(x, j, first.text, give_up);
    return WORK_OK;
}

/* Waits for jobs that others hold or that are not due; WORK_NONE: there are none. */
static work_reply
pause_or_end(worker *x)
{
    const work_values *v = &x->work->values;
    int64_t left = 1;
    work_reply reply = v->wait ? WORK_OK : work_queue_left(x->queue, &left);

    if (reply != WORK_OK || left == 0)
        return reply == WORK_OK ? WORK_NONE : reply;
    nanosleep(
        &(struct timespec){v->poll_ms / 1000, v->poll_ms % 1000 * 1000000},
        NULL);
    return WORK_OK;
}

static work_reply
step(worker *x)
{
    work_job j;
    work_reply reply =
        work_queue_claim(x->queue, x->arena, x->work->values.tries, &j);

    reply = reply == WORK_OK     ? run(x, &j)
            : reply == WORK_NONE ? pause_or_end(x)
                                 : reply;
    glow_arena_reset(x->arena);
    if (reply == WORK_LOST && !ending &&
        !work_queue_connect(x->queue, x->work->values.patience))
        reply = WORK_WRONG;
    return reply;
}

int
work_until_done(work *w, work_queue *q)
{
    worker x = {.work = w, .queue = q};
    struct sigaction a = {.sa_handler = end};
    work_reply reply = WORK_OK;
    int code = work_runner_open(w, &x.runner);

    sigemptyset(&a.sa_mask);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
    x.arena = glow_arena_new();
    while (code == TOOL_GO_ON && !ending &&
           (reply == WORK_OK || reply == WORK_LOST))
        reply = step(&x);
    work_runner_close(x.runner);
    glow_arena_free(x.arena);
    if (code != TOOL_GO_ON)
        return code;
    tool_print(stdout,
               "%" PRId64 " jobs, %" PRId64 " samples done, %" PRId64
               " jobs given up\n",
               x.jobs, x.samples, x.given_up);
    return reply == WORK_WRONG || x.given_up ? TOOL_FAILED : TOOL_DONE;
}

#include "runtime/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/executor.h"
#include "runtime/heap.h"

typedef struct command command;
struct command {
    run_queue *queue;
    glow_command c;
    run_work_fn fn;
    void *work;
    uint64_t number; /* of its coming */
    command *next;   /* of those that wait for their fences */
    command **link;  /* that points to it; NULL: it waits no more */
};

struct run_queue {
    glow_executor *executor; /* NULL: none that would count */
    const run_executor_kind *kind;
    run_lane *lane;
    pthread_mutex_t lock;
    command *waiting; /* for fences */
    int owners;       /* its user, and commands that listen to fences */
    command **ready;  /* a heap, the next one first */
    size_t n_ready, room;
    uint64_t count;
    bool closing;
    int waking; /* calls of `wake` that go on */
    pthread_cond_t woke;
};

/* The heap. */

static bool
goes_before(const command *a, const command *b)
{
    return a->c.priority != b->c.priority ? a->c.priority > b->c.priority
                                          : a->number < b->number;
}

static void
sift_down(run_queue *q, size_t i)
{
    for (;;) {
        size_t first = i, left = 2 * i + 1, right = left + 1;
        command *held = q->ready[i];

        if (left < q->n_ready && goes_before(q->ready[left], q->ready[first]))
            first = left;
        if (right < q->n_ready && goes_before(q->ready[right], q->ready[first]))
            first = right;
        if (first == i)
            return;
        q->ready[i] = q->ready[first];
        q->ready[first] = held;
        i = first;
    }
}

static void
push(run_queue *q, command *k)
{
    size_t i = q->n_ready++;

    if (q->n_ready > q->room) {
        size_t room = q->room ? 2 * q->room : 16;
        command **grown = glow_heap_new(room * sizeof(command *));

        for (size_t j = 0; j < i; j++)
            grown[j] = q->ready[j];
        free(q->ready);
        q->ready = grown;
        q->room = room;
    }
    q->ready[i] = k;
    while (i > 0 && goes_before(k, q->ready[(i - 1) / 2])) {
        q->ready[i] = q->ready[(i - 1) / 2];
        i = (i - 1) / 2;
        q->ready[i] = k;
    }
}

static command *
pop(run_queue *q)
{
    command *k = q->ready[0];

    q->ready[0] = q->ready[--q->n_ready];
    sift_down(q, 0);
    return k;
}

/* Commands. */

/* Tells how it ended, and gives back all but the command itself. */
static void
settle(command *k, const glow_report_text *r)
{
    glow_timeline *signal = k->c.signal.timeline;

    if (signal && r->outcome == GLOW_RUN_DONE)
        glow_timeline_reach(signal, k->c.signal.value);
    else if (signal)
        glow_timeline_fail(signal, r->outcome, r->text);
    glow_timeline_unref(signal);
    glow_timeline_unref(k->c.wait.timeline);
    free(k->work);
}

static void
unlink_waiting(command *k)
{
    *k->link = k->next;
    if (k->next)
        k->next->link = k->link;
    k->link = NULL;
    k->next = NULL;
}

/* The last owner frees it; `woke`: it has called `wake`. */
static void
drop(run_queue *q, bool woke)
{
    bool last;

    pthread_mutex_lock(&q->lock);
    q->waking -= woke;
    if (q->closing && q->waking == 0)
        pthread_cond_broadcast(&q->woke);
    last = --q->owners == 0;
    pthread_mutex_unlock(&q->lock);
    if (!last)
        return;
    pthread_cond_destroy(&q->woke);
    pthread_mutex_destroy(&q->lock);
    free(q->ready);
    free(q);
}

/* The fence of a command was reached, or never will be. */
static void
fence_reached(void *user, const glow_report_text *r)
{
    command *k = user;
    run_queue *q = k->queue;
    bool mine, runs = false;

    pthread_mutex_lock(&q->lock);
    mine = k->link != NULL;
    if (mine) {
        unlink_waiting(k);
        runs = r->outcome == GLOW_RUN_DONE;
        if (runs)
            push(q, k);
        q->waking += runs;
    }
    pthread_mutex_unlock(&q->lock);
    if (runs) {
        q->kind->wake(q->lane);
    } else {
        if (mine)
            settle(k, r);
        free(k); /* if it was cancelled, this call alone knew it still */
    }
    drop(q, runs);
}

static void
run_command(const command *k, int slot, glow_report_text *r)
{
    if (k->c.since)
        __atomic_store_n(k->c.since, glow_now(), __ATOMIC_RELAXED);
    r->outcome = k->fn(k->work, slot, r);
    if (k->c.since)
        __atomic_store_n(k->c.since, 0, __ATOMIC_RELAXED);
}

void
glow_run_queue_step(run_queue *q, int slot, bool *ends)
{
    glow_report_text r = {0};
    command *k;

    pthread_mutex_lock(&q->lock);
    k = q->n_ready > 0 ? pop(q) : NULL; /* NULL: it was cancelled */
    pthread_mutex_unlock(&q->lock);
    if (!k)
        return;
    if (q->executor)
        atomic_fetch_add_explicit(&q->executor->commands, 1,
                                  memory_order_relaxed);
    if (k->c.deadline && glow_now() > k->c.deadline)
        r = (glow_report_text){GLOW_RUN_LATE,
                               "the deadline passed before it started"};
    else
        run_command(k, slot, &r);
    if (ends)
        *ends = true;
    settle(k, &r);
    if (ends)
        *ends = false;
    free(k);
}

/* The interface. */

run_queue *
glow_run_queue_new(glow_executor *x, int slots)
{
    run_queue *q = glow_heap_new(sizeof *q);

    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->woke, NULL);
    q->owners = 1;
    q->executor = x;
    q->kind = x ? x->kind : &glow_run_executor_threads;
    q->lane = q->kind->add(x, q, slots);
    if (q->lane)
        return q;
    drop(q, false);
    return NULL;
}

void
glow_run_queue_put(run_queue *q, const glow_command *c, run_work_fn fn,
                   void *work)
{
    command *k = glow_heap_new(sizeof *k);

    *k = (command){.queue = q, .c = *c, .fn = fn, .work = work};
    if (c->signal.timeline)
        glow_timeline_ref(c->signal.timeline);
    if (c->wait.timeline)
        glow_timeline_ref(c->wait.timeline);
    pthread_mutex_lock(&q->lock);
    q->owners++;
    k->number = q->count++;
    k->next = q->waiting;
    k->link = &q->waiting;
    if (k->next)
        k->next->link = &k->next;
    q->waiting = k;
    pthread_mutex_unlock(&q->lock);
    glow_fence_then(c->wait, fence_reached, k);
}

/* Takes the commands of `t` out of the heap, into a list. */
static command *
take_ready(run_queue *q, const glow_timeline *t)
{
    command *out = NULL;
    size_t kept = 0;

    for (size_t i = 0; i < q->n_ready; i++) {
        command *k = q->ready[i];

        if (t && k->c.signal.timeline != t) {
            q->ready[kept++] = k;
            continue;
        }
        k->next = out;
        out = k;
    }
    q->n_ready = kept;
    for (size_t i = kept / 2; i-- > 0;)
        sift_down(q, i);
    return out;
}

/*
 * Copies of those that wait, since a listener that cannot be called off still has the
 * address of each.
 */
static command *
take_waiting(run_queue *q)
{
    command *out = NULL, *taken;

    for (command *k = q->waiting, *next; k; k = next) {
        next = k->next;
        unlink_waiting(k);
        taken = glow_heap_new(sizeof *taken);
        *taken = *k;
        taken->next = out;
        out = taken;
    }
    return out;
}

void
glow_run_queue_cancel(run_queue *q, glow_timeline *t, glow_outcome outcome,
                      const char *text)
{
    glow_report_text r = {.outcome = outcome};
    command *lists[2];

    snprintf(r.text, sizeof r.text, "%s", text);
    pthread_mutex_lock(&q->lock);
    lists[0] = take_ready(q, t);
    lists[1] = q->closing ? take_waiting(q) : NULL;
    pthread_mutex_unlock(&q->lock);
    for (int i = 0; i < 2; i++)
        for (command *k = lists[i], *next; k; k = next) {
            next = k->next;
            settle(k, &r);
            free(k);
        }
}

void
glow_run_queue_end(run_queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->closing = true;
    pthread_mutex_unlock(&q->lock);
    glow_run_queue_cancel(q, NULL, GLOW_RUN_CANCELLED, "the device was closed");
    pthread_mutex_lock(&q->lock);
    while (q->waking > 0)
        pthread_cond_wait(&q->woke, &q->lock);
    pthread_mutex_unlock(&q->lock);
    q->kind->end(q->lane);
    drop(q, false);
}

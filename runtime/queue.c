#include "runtime/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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
    pthread_mutex_t lock;
    pthread_cond_t changed;
    command *waiting; /* for fences */
    int owners;       /* its user, and commands that listen to fences */
    command **ready;  /* a heap, the next one first */
    size_t n_ready, room;
    uint64_t count;
    bool closing;
    int workers;
    pthread_t *threads;
};

typedef struct worker {
    run_queue *queue;
    int number;
} worker;

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
run_command(command *k, int number)
{
    glow_report_text r = {0};

    if (k->c.deadline && glow_now() > k->c.deadline)
        r = (glow_report_text){GLOW_RUN_LATE, "the deadline passed before it started"};
    else
        r.outcome = k->fn(k->work, number, &r);
    settle(k, &r);
    free(k);
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

/* The last owner frees it. */
static void
drop(run_queue *q)
{
    bool last;

    pthread_mutex_lock(&q->lock);
    last = --q->owners == 0;
    pthread_mutex_unlock(&q->lock);
    if (!last)
        return;
    pthread_cond_destroy(&q->changed);
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
        if (runs && q->workers) {
            push(q, k);
            pthread_cond_signal(&q->changed);
        }
    }
    pthread_mutex_unlock(&q->lock);
    if (mine && runs && !q->workers) {
        run_command(k, 0);
    } else if (!runs) {
        if (mine)
            settle(k, r);
        free(k); /* if it was cancelled, this call alone knew it still */
    }
    drop(q);
}

static void *
work(void *user)
{
    worker w = *(worker *)user;
    run_queue *q = w.queue;

    free(user);
    pthread_mutex_lock(&q->lock);
    for (;;) {
        command *k;

        while (q->n_ready == 0 && !q->closing)
            pthread_cond_wait(&q->changed, &q->lock);
        if (q->n_ready == 0)
            break;
        k = pop(q);
        pthread_mutex_unlock(&q->lock);
        run_command(k, w.number);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* The interface. */

/* Starts the threads, and counts them in q->workers; false: the system has no more. */
static bool
start_threads(run_queue *q, int workers)
{
    while (q->workers < workers) {
        worker *w = glow_heap_new(sizeof *w);

        *w = (worker){q, q->workers};
        if (pthread_create(&q->threads[q->workers], NULL, work, w) != 0) {
            free(w);
            return false;
        }
        q->workers++;
    }
    return true;
}

run_queue *
glow_run_queue_new(int workers)
{
    run_queue *q = glow_heap_new(sizeof *q);

    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    q->owners = 1;
    q->threads = glow_heap_new((size_t)(workers + 1) * sizeof *q->threads);
    if (start_threads(q, workers))
        return q;
    glow_run_queue_end(q);
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
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    glow_run_queue_cancel(q, NULL, GLOW_RUN_CANCELLED, "the device was closed");
    for (int i = 0; i < q->workers; i++)
        pthread_join(q->threads[i], NULL);
    free(q->threads);
    drop(q);
}

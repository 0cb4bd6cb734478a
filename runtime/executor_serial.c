/* The serial executor: one thread and a queue of turns, first in, first out. */

#include <pthread.h>
#include <stdlib.h>

#include "glow/diag.h"
#include "runtime/executor.h"
#include "runtime/heap.h"
#include "runtime/queue.h"

typedef struct turn {
    run_lane *lane;
    struct turn *next;
} turn;

typedef struct serial {
    glow_executor base;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    turn *first, **last;
    run_lane *running; /* NULL: none */
    bool closing;
    pthread_t thread;
} serial;

struct run_lane {
    serial *executor;
    run_queue *queue;
};

static void *
work(void *user)
{
    serial *x = user;

    pthread_mutex_lock(&x->lock);
    for (;;) {
        turn *t;

        while (!x->first && !x->closing)
            pthread_cond_wait(&x->changed, &x->lock);
        if (!x->first)
            break;
        t = x->first;
        x->first = t->next;
        if (!x->first)
            x->last = &x->first;
        x->running = t->lane;
        pthread_mutex_unlock(&x->lock);
        glow_run_queue_step(t->lane->queue, 0, NULL);
        free(t);
        pthread_mutex_lock(&x->lock);
        x->running = NULL;
        pthread_cond_broadcast(&x->changed);
    }
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

static void
free_executor(serial *x)
{
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

static glow_executor *
open_executor(glow_context *ctx)
{
    serial *x = glow_heap_new(sizeof *x);

    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->changed, NULL);
    x->last = &x->first;
    if (pthread_create(&x->thread, NULL, work, x) == 0)
        return &x->base;
    glow_error(ctx, "E1009", "executor serial: a thread cannot be started");
    free_executor(x);
    return NULL;
}

static void
close_executor(glow_executor *executor)
{
    serial *x = (serial *)executor;

    pthread_mutex_lock(&x->lock);
    x->closing = true;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    pthread_join(x->thread, NULL);
    free_executor(x);
}

static run_lane *
add_lane(glow_executor *x, run_queue *q, int slots)
{
    run_lane *l = glow_heap_new(sizeof *l);

    (void)slots;
    *l = (run_lane){(serial *)x, q};
    return l;
}

static void
wake(run_lane *l)
{
    serial *x = l->executor;
    turn *t = glow_heap_new(sizeof *t);

    t->lane = l;
    pthread_mutex_lock(&x->lock);
    *x->last = t;
    x->last = &t->next;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
}

static void
drop_turns(serial *x, const run_lane *l)
{
    turn **at = &x->first;

    while (*at) {
        turn *t = *at;

        if (t->lane != l) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        free(t);
    }
    x->last = at;
}

static void
end_lane(run_lane *l)
{
    serial *x = l->executor;

    pthread_mutex_lock(&x->lock);
    drop_turns(x, l);
    while (x->running == l)
        pthread_cond_wait(&x->changed, &x->lock);
    pthread_mutex_unlock(&x->lock);
    free(l);
}

const run_executor_kind glow_run_executor_serial = {
    .name = "serial",
    .open = open_executor,
    .close = close_executor,
    .add = add_lane,
    .wake = wake,
    .end = end_lane,
};

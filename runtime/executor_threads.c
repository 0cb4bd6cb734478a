/* The executor of threads: a thread for each slot of a lane, and a semaphore of wakes. */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "runtime/executor.h"
#include "runtime/heap.h"
#include "runtime/queue.h"

struct run_lane {
    run_queue *queue;
    sem_t wakes;
    atomic_bool closing;
    int slots; /* that have a thread */
    pthread_t *threads;
};

typedef struct worker {
    run_lane *lane;
    int slot;
} worker;

static void
wait_for_wake(run_lane *l)
{
    while (sem_wait(&l->wakes) != 0 && errno == EINTR)
        ;
}

static void *
work(void *user)
{
    worker w = *(worker *)user;

    free(user);
    for (;;) {
        wait_for_wake(w.lane);
        if (atomic_load(&w.lane->closing))
            return NULL;
        glow_run_queue_step(w.lane->queue, w.slot);
    }
}

static glow_executor *
open_executor(glow_context *ctx)
{
    (void)ctx;
    return glow_heap_new(sizeof(glow_executor));
}

static void
close_executor(glow_executor *x)
{
    free(x);
}

static void
end_lane(run_lane *l)
{
    atomic_store(&l->closing, true);
    for (int i = 0; i < l->slots; i++)
        sem_post(&l->wakes);
    for (int i = 0; i < l->slots; i++)
        pthread_join(l->threads[i], NULL);
    sem_destroy(&l->wakes);
    free(l->threads);
    free(l);
}

static run_lane *
add_lane(glow_executor *x, run_queue *q, int slots)
{
    run_lane *l = glow_heap_new(sizeof *l);

    (void)x;
    l->queue = q;
    sem_init(&l->wakes, 0, 0);
    l->threads = glow_heap_new((size_t)slots * sizeof *l->threads);
    for (; l->slots < slots; l->slots++) {
        worker *w = glow_heap_new(sizeof *w);

        *w = (worker){l, l->slots};
        if (pthread_create(&l->threads[l->slots], NULL, work, w) == 0)
            continue;
        free(w);
        end_lane(l);
        return NULL;
    }
    return l;
}

static void
wake(run_lane *l)
{
    sem_post(&l->wakes);
}

const run_executor_kind glow_run_executor_threads = {
    .name = "threads",
    .open = open_executor,
    .close = close_executor,
    .add = add_lane,
    .wake = wake,
    .end = end_lane,
};

/*
 * The executor of threads: a pool with a thread for each slot of all lanes.
 *
 * A thread that ends a command goes on with the command that this end made ready, a
 * continuation, on whatever lane: a chain of commands wakes no thread, which takes longer
 * than an empty command (2 to 9 us).  A second command that became ready, or the
 * continuation if the lane of the thread has more to run, goes to an idle thread, the last
 * one that became idle first.  A slot that is taken belongs to one thread, so that an idle
 * thread is there for every slot, also beside commands that hang.
 *
 * A thread that starts commands from outside keeps the first one for as long as it takes to
 * start them all, and a caller that waits for its request runs what it kept.
 */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "runtime/executor.h"
#include "runtime/heap.h"
#include "runtime/queue.h"

typedef struct slot {
    run_lane *lane;
    int number;
    struct slot *next; /* free one of the lane */
} slot;

typedef struct worker {
    struct pool *pool;
    sem_t woken;
    slot *given; /* by the thread that posts `woken`; NULL: the pool closes */
    struct worker *idle, *all; /* links of lists of the pool */
    pthread_t thread;
} worker;

typedef struct pool {
    glow_executor base;
    pthread_mutex_t lock; /* all below, and of lanes */
    worker *idle, *all;   /* `idle`: a stack */
    int threads, slots;
} pool;

struct run_lane {
    pool *pool;
    bool owns_pool;
    run_queue *queue;
    slot *slots, *free;
    int count, taken;    /* slots, and those that are not free */
    int waiting;         /* wakes that have no slot yet */
    pthread_cond_t idle; /* no slot is taken */
};

/* The command that a thread keeps. */
typedef struct kept {
    pool *pool; /* whose commands it may keep; NULL: of none */
    bool keeps; /* the next lane that wakes */
    slot *next; /* NULL: none */
} kept;

static _Thread_local kept mine;

/* Slots. */

/* Gives `s` to an idle thread, which is to be posted; with the lock. */
static worker *
give(pool *p, slot *s)
{
    worker *w = p->idle;

    p->idle = w->idle;
    w->given = s;
    return w;
}

static void
post(worker *w)
{
    if (w)
        sem_post(&w->woken);
}

/* Gives `s` to another thread. */
static void
hand_over(pool *p, slot *s)
{
    worker *w;

    pthread_mutex_lock(&p->lock);
    w = give(p, s);
    pthread_mutex_unlock(&p->lock);
    post(w);
}

/* `s` if its lane has more to run, else NULL; then it is free.  With the lock. */
static slot *
keep_or_free(slot *s)
{
    run_lane *l = s->lane;

    if (l->waiting > 0) {
        l->waiting--;
        return s;
    }
    s->next = l->free;
    l->free = s;
    if (--l->taken == 0)
        pthread_cond_broadcast(&l->idle);
    return NULL;
}

static void
run_slot(const slot *s)
{
    glow_run_queue_step(s->lane->queue, s->number, &mine.keeps);
}

/* Gives slot `s` back; the slot that thread `w` goes on with, or NULL: it is idle now. */
static slot *
next_slot(worker *w, slot *s)
{
    pool *p = w->pool;
    worker *other = NULL;

    pthread_mutex_lock(&p->lock);
    s = keep_or_free(s);
    if (s && mine.next)
        other = give(p, mine.next);
    else if (!s)
        s = mine.next;
    mine.next = NULL;
    if (!s) {
        w->idle = p->idle;
        p->idle = w;
    }
    pthread_mutex_unlock(&p->lock);
    post(other);
    return s;
}

static void
wake(run_lane *l)
{
    pool *p = l->pool;
    worker *w = NULL;
    slot *s;

    pthread_mutex_lock(&p->lock);
    s = l->free;
    if (!s) {
        l->waiting++;
    } else {
        l->free = s->next;
        l->taken++;
        if (mine.pool == p && mine.keeps && !mine.next)
            mine.next = s;
        else
            w = give(p, s);
    }
    pthread_mutex_unlock(&p->lock);
    post(w);
}

/* Threads. */

static slot *
await(worker *w)
{
    while (sem_wait(&w->woken) != 0 && errno == EINTR)
        ;
    return w->given;
}

static void *
work(void *user)
{
    worker *w = user;
    slot *s;

    mine.pool = w->pool;
    while ((s = await(w)) != NULL)
        for (; s; s = next_slot(w, s))
            run_slot(s);
    return NULL;
}

/* One more idle thread; false: it cannot be started.  With the lock. */
static bool
add_thread(pool *p)
{
    worker *w = glow_heap_new(sizeof *w);

    w->pool = p;
    sem_init(&w->woken, 0, 0);
    if (pthread_create(&w->thread, NULL, work, w) != 0) {
        sem_destroy(&w->woken);
        free(w);
        return false;
    }
    w->idle = p->idle;
    w->all = p->all;
    p->idle = p->all = w;
    p->threads++;
    return true;
}

/* Threads from outside. */

static bool
keep(glow_executor *x)
{
    if (mine.pool)
        return false;
    mine = (kept){.pool = (pool *)x, .keeps = true};
    return true;
}

static void
share(void)
{
    slot *s = mine.next;

    if (!s)
        return;
    mine.next = NULL;
    hand_over(mine.pool, s);
}

/* Gives slot `s`, which this thread leaves, back or to another thread. */
static void
leave(slot *s)
{
    pool *p = mine.pool;
    worker *other = NULL;

    pthread_mutex_lock(&p->lock);
    s = keep_or_free(s);
    if (s)
        other = give(p, s);
    pthread_mutex_unlock(&p->lock);
    post(other);
}

static void
run_kept(bool (*is_done)(void *user), void *user)
{
    mine.keeps = false;
    while (is_done && mine.next && !is_done(user)) {
        slot *s = mine.next;

        mine.next = NULL;
        run_slot(s);
        leave(s);
    }
    share();
    mine.pool = NULL;
}

/* The interface. */

static glow_executor *
open_executor(glow_context *ctx)
{
    pool *p = glow_heap_new(sizeof *p);

    (void)ctx;
    pthread_mutex_init(&p->lock, NULL);
    return &p->base;
}

static void
close_executor(glow_executor *x)
{
    pool *p = (pool *)x;

    /* All threads are idle, and nothing has been given to any. */
    for (worker *w = p->all, *next; w; w = next) {
        next = w->all;
        w->given = NULL;
        post(w);
        pthread_join(w->thread, NULL);
        sem_destroy(&w->woken);
        free(w);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static void
end_lane(run_lane *l)
{
    pool *p = l->pool;

    pthread_mutex_lock(&p->lock);
    l->waiting = 0;
    while (l->taken > 0)
        pthread_cond_wait(&l->idle, &p->lock);
    p->slots -= l->count;
    pthread_mutex_unlock(&p->lock);
    if (l->owns_pool)
        close_executor(&p->base);
    pthread_cond_destroy(&l->idle);
    free(l->slots);
    free(l);
}

static run_lane *
add_lane(glow_executor *x, run_queue *q, int slots)
{
    run_lane *l = glow_heap_new(sizeof *l);
    bool ok = true;

    l->pool = (pool *)(x ? x : open_executor(NULL));
    l->owns_pool = !x;
    l->queue = q;
    l->slots = glow_heap_new((size_t)slots * sizeof *l->slots);
    l->count = slots;
    pthread_cond_init(&l->idle, NULL);
    for (int i = slots; i-- > 0;) {
        l->slots[i] = (slot){l, i, l->free};
        l->free = &l->slots[i];
    }
    pthread_mutex_lock(&l->pool->lock);
    l->pool->slots += slots;
    while (ok && l->pool->threads < l->pool->slots)
        ok = add_thread(l->pool);
    pthread_mutex_unlock(&l->pool->lock);
    if (ok)
        return l;
    end_lane(l);
    return NULL;
}

const run_executor_kind glow_run_executor_threads = {
    .name = "threads",
    .open = open_executor,
    .close = close_executor,
    .add = add_lane,
    .wake = wake,
    .end = end_lane,
    .keep = keep,
    .run_kept = run_kept,
    .share = share,
};

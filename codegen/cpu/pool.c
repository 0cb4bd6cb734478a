/*
 * A thread pool for parallel loops of microseconds, with one job at a time.
 *
 * One atomic word holds the number of the job, whether it is open, and the
 * number of workers inside.  An idle worker polls the word: it first spins,
 * then yields, then sleeps.  A worker that finds a new open job enters it by a
 * compare-and-swap that counts it in, runs parts until none is left, and counts
 * itself out.  The caller runs parts too; when none is left it closes the job,
 * so that no worker can enter any more, and waits for the workers inside.  So a
 * worker that sleeps, or that the system has descheduled, delays no job.
 *
 * Each thread has a static chunk of the parts, the same in each job, because
 * its data may still be in its cache from the job before.  A thread that has
 * finished its chunk steals parts from the chunks of others.
 */

#define _GNU_SOURCE /* sched_getaffinity */

#include "codegen/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 256
#define SPINS 4000
#define AWAKE 1000000 /* nanoseconds of yielding before a worker sleeps */

/* The word: number of the job, open flag, count of the workers inside. */
#define WITHIN UINT64_C(0xffff)
#define OPEN (WITHIN + 1)
#define JOB (OPEN << 1)

/* The chunk [next, end) of one thread, on a cache line of its own. */
typedef struct stretch {
    _Alignas(128) atomic_uintptr_t next;
    uintptr_t end;
} stretch;

static struct team {
    pthread_mutex_t staff; /* guards the next three members */
    int users, workers;
    pthread_t thread[MOST_THREADS];

    pthread_mutex_t lock; /* for sleeping workers */
    pthread_cond_t wake;
    atomic_bool ends;
    atomic_int asleep;

    atomic_bool taken; /* a job is running */
    _Alignas(128) _Atomic uint64_t word;
    cpu_part_fn part; /* of the job, like the members below */
    void *work;
    int threads;
    stretch stretch[MOST_THREADS];
} team = {
    .staff = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
};

/* Spins of an idle worker, then the time since when it yields. */
typedef struct idleness {
    int spins;
    int64_t since;
} idleness;

static void
relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int
glow_cpu_processors(void)
{
#ifdef __linux__
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (int)n : 1;
}

/* Runs parts, first of the chunk of thread `self`, until none is left. */
CPU_CALLS_CODE static void
take_parts(struct team *p, int self)
{
    for (int k = 0; k < p->threads; k++) {
        stretch *s = &p->stretch[(self + k) % p->threads];

        for (;;) {
            uintptr_t i =
                atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);

            if (i >= s->end)
                break;
            p->part(p->work, i);
        }
    }
}

/* Workers. */

/* Enters the job of `word` if it is open and new; true if it did. */
static bool
enter(struct team *p, uint64_t word, uint64_t *last)
{
    uint64_t job = word / JOB;

    if (!(word & OPEN) || job == *last)
        return false;
    if (!atomic_compare_exchange_strong(&p->word, &word, word + 1))
        return false;
    *last = job;
    return true;
}

/* Sleeps until there may be a job; false when the pool ends. */
static bool
sleep_on(struct team *p, uint64_t last)
{
    bool goes_on;

    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->asleep, 1);
    for (;;) {
        uint64_t word = atomic_load(&p->word);

        goes_on = !p->ends;
        if (!goes_on || ((word & OPEN) && word / JOB != last))
            break;
        pthread_cond_wait(&p->wake, &p->lock);
    }
    atomic_fetch_sub(&p->asleep, 1);
    pthread_mutex_unlock(&p->lock);
    return goes_on;
}

static int64_t
nanoseconds(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * Spins, yields or sleeps once; false when the pool ends.  `idle` is zero at
 * first.
 */
static bool
idle_on(struct team *p, idleness *idle, uint64_t last)
{
    if (idle->spins++ < SPINS) {
        relax();
        return true;
    }
    if (idle->spins == SPINS + 1)
        idle->since = nanoseconds();
    if (nanoseconds() - idle->since < AWAKE &&
        !atomic_load_explicit(&p->ends, memory_order_relaxed)) {
        sched_yield();
        return true;
    }
    *idle = (idleness){0};
    return sleep_on(p, last);
}

static void *
worker(void *argument)
{
    struct team *p = &team;
    int self = (int)(intptr_t)argument;
    idleness idle = {0};
    uint64_t last = 0;

    for (;;) {
        uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);

        if (enter(p, word, &last)) {
            if (self < p->threads)
                take_parts(p, self);
            atomic_fetch_sub_explicit(&p->word, 1, memory_order_release);
            idle = (idleness){0};
        } else if (!idle_on(p, &idle, last)) {
            return NULL;
        }
    }
}

/* Jobs. */

static void
cut(struct team *p, uintptr_t parts)
{
    uintptr_t n = (uintptr_t)p->threads;

    for (uintptr_t i = 0; i < n; i++) {
        atomic_store_explicit(&p->stretch[i].next, parts * i / n,
                              memory_order_relaxed);
        p->stretch[i].end = parts * (i + 1) / n;
    }
}

static void
wake(struct team *p)
{
    if (atomic_load(&p->asleep) == 0)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void
wait_for_workers(struct team *p)
{
    for (int idle = 0;
         atomic_load_explicit(&p->word, memory_order_acquire) & WITHIN; idle++)
        if (idle < SPINS)
            relax();
        else
            sched_yield();
}

CPU_CALLS_CODE void
glow_cpu_pool_run(void *pool, cpu_part_fn part, void *work, uintptr_t parts)
{
    struct team *p = &team;
    int threads = ((cpu_pool *)pool)->threads;

    if (threads < 2 || parts < 2 || atomic_exchange(&p->taken, true)) {
        for (uintptr_t i = 0; i < parts; i++)
            part(work, i);
        return;
    }
    p->part = part;
    p->work = work;
    p->threads = threads;
    cut(p, parts);
    atomic_store(&p->word, (atomic_load(&p->word) / JOB + 1) * JOB + OPEN);
    wake(p);
    take_parts(p, 0);
    atomic_fetch_and(&p->word, ~OPEN);
    wait_for_workers(p);
    atomic_store(&p->taken, false);
}

/* The threads. */

void
glow_cpu_pool_open(cpu_pool *pool, int threads)
{
    struct team *p = &team;

    pool->threads = threads < 1              ? 1
                    : threads > MOST_THREADS ? MOST_THREADS
                                             : threads;
    if (pool->threads == 1)
        return;
    pthread_mutex_lock(&p->staff);
    p->users++;
    while (p->workers < pool->threads - 1) {
        void *self = (void *)(intptr_t)(p->workers + 1);

        if (pthread_create(&p->thread[p->workers], NULL, worker, self))
            break; /* the other threads run its parts */
        p->workers++;
    }
    pthread_mutex_unlock(&p->staff);
}

static void
set_ends(struct team *p, bool ends)
{
    pthread_mutex_lock(&p->lock);
    p->ends = ends;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void
glow_cpu_pool_close(cpu_pool *pool)
{
    struct team *p = &team;

    if (pool->threads < 2)
        return;
    pthread_mutex_lock(&p->staff);
    if (--p->users == 0) {
        set_ends(p, true);
        while (p->workers > 0)
            pthread_join(p->thread[--p->workers], NULL);
        set_ends(p, false);
    }
    pthread_mutex_unlock(&p->staff);
}

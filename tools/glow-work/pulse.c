/* A thread that calls a function at intervals. */

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tools/glow-work/work.h"

struct work_pulse {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ends;
    bool over;
    int64_t ms;
    bool (*beat)(void *user);
    void *user;
};

static bool
wait_or_end(work_pulse *p)
{
    int64_t at = glow_now() + p->ms * 1000000;
    const struct timespec until = {(time_t)(at / 1000000000),
                                   (long)(at % 1000000000)};
    bool over;

    pthread_mutex_lock(&p->lock);
    while (!p->over && glow_now() < at)
        pthread_cond_timedwait(&p->ends, &p->lock, &until);
    over = p->over;
    pthread_mutex_unlock(&p->lock);
    return !over;
}

static void *
work_pulse_run(void *user)
{
    work_pulse *p = user;

    while (wait_or_end(p) && p->beat(p->user))
        ;
    return NULL;
}

work_pulse *
work_pulse_start(int64_t ms, bool (*beat)(void *user), void *user)
{
    work_pulse *p = malloc(sizeof *p);
    pthread_condattr_t clock;

    if (!p)
        return NULL;
    *p = (work_pulse){.ms = ms, .beat = beat, .user = user};
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ends, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&p->thread, NULL, work_pulse_run, p) == 0)
        return p;
    free(p);
    return NULL;
}

void
work_pulse_end(work_pulse *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_signal(&p->ends);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->ends);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

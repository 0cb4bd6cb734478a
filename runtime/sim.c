#include "runtime/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/heap.h"

struct run_sim {
    run_base *base; /* its lock is that of all below */
    pthread_cond_t woken;
    int runs;
    uint64_t era; /* a greater one ends runs that hang */
};

run_sim *
glow_run_sim_new(run_base *b)
{
    run_sim *s = glow_heap_new(sizeof *s);

    s->base = b;
    pthread_cond_init(&s->woken, NULL);
    return s;
}

void
glow_run_sim_free(run_sim *s)
{
    if (!s)
        return;
    pthread_cond_destroy(&s->woken);
    free(s);
}

void
glow_run_sim_wake(run_sim *s, glow_run_device_state state)
{
    pthread_mutex_lock(&s->base->lock);
    s->base->state = state;
    s->era++;
    pthread_cond_broadcast(&s->woken);
    pthread_mutex_unlock(&s->base->lock);
}

static void
hang(run_sim *s)
{
    uint64_t era;

    pthread_mutex_lock(&s->base->lock);
    for (era = s->era; era == s->era;)
        pthread_cond_wait(&s->woken, &s->base->lock);
    pthread_mutex_unlock(&s->base->lock);
}

glow_outcome
glow_run_sim_begin(run_sim *s, glow_report_text *r)
{
    const glow_run_device_options *o = &s->base->options;
    int number;

    pthread_mutex_lock(&s->base->lock);
    number = ++s->runs;
    pthread_mutex_unlock(&s->base->lock);
    if (number == o->fail_at) {
        snprintf(r->text, sizeof r->text, "device %s failed run %d, as told",
                 o->name, number);
        return GLOW_RUN_FAILED;
    }
    if (number == o->die_at) {
        glow_run_sim_wake(s, GLOW_RUN_DEVICE_LOST);
        snprintf(r->text, sizeof r->text, "device %s died in run %d, as told",
                 o->name, number);
        return GLOW_RUN_LOST;
    }
    if (number == o->hang_at) {
        hang(s);
        snprintf(r->text, sizeof r->text, "device %s hung", o->name);
        return GLOW_RUN_LOST;
    }
    return glow_run_base_is_lost(s->base, r) ? GLOW_RUN_CANCELLED
                                             : GLOW_RUN_DONE;
}

void
glow_run_sim_end(const run_sim *s, int64_t begin)
{
    glow_run_sleep_until(begin + s->base->options.run_ns);
}

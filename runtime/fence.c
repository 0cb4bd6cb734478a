#include "glow/fence.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/heap.h"

typedef struct listener listener;
struct listener {
    uint64_t value;
    glow_fence_fn fn;
    void *user;
    listener *next;
};

struct glow_timeline {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int owners;
    uint64_t value;
    glow_report_text failure; /* GLOW_RUN_DONE: none */
    listener *listeners, **last;
};

const char *
glow_outcome_name(glow_outcome o)
{
    static const char *const names[GLOW_RUN_OUTCOMES] = {
        "done", "failed", "late", "cancelled", "invalid", "refused", "lost",
    };

    return names[o];
}

int64_t
glow_now(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

glow_timeline *
glow_timeline_new(void)
{
    glow_timeline *t = glow_heap_new(sizeof *t);
    pthread_condattr_t monotonic;

    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    t->owners = 1;
    t->last = &t->listeners;
    return t;
}

glow_timeline *
glow_timeline_ref(glow_timeline *t)
{
    pthread_mutex_lock(&t->lock);
    t->owners++;
    pthread_mutex_unlock(&t->lock);
    return t;
}

void
glow_timeline_unref(glow_timeline *t)
{
    bool last;

    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    last = --t->owners == 0;
    pthread_mutex_unlock(&t->lock);
    if (!last)
        return;
    /* Nobody can reach it any more. */
    glow_timeline_fail(t, GLOW_RUN_CANCELLED,
                       "nothing is left that would do it");
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

uint64_t
glow_timeline_value(glow_timeline *t)
{
    uint64_t value;

    pthread_mutex_lock(&t->lock);
    value = t->value;
    pthread_mutex_unlock(&t->lock);
    return value;
}

/* Takes out the listeners that there is news for, in the order of their coming. */
static listener *
take_listeners(glow_timeline *t)
{
    listener *out = NULL, **end = &out, **at = &t->listeners;

    while (*at) {
        listener *l = *at;

        if (t->failure.outcome == GLOW_RUN_DONE && l->value > t->value) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        l->next = NULL;
        *end = l;
        end = &l->next;
    }
    t->last = at;
    return out;
}

static void
tell(listener *l, const glow_report_text *r)
{
    while (l) {
        listener *next = l->next;

        l->fn(l->user, r);
        free(l);
        l = next;
    }
}

void
glow_timeline_reach(glow_timeline *t, uint64_t value)
{
    static const glow_report_text done;
    listener *l = NULL;

    pthread_mutex_lock(&t->lock);
    if (t->failure.outcome == GLOW_RUN_DONE && value > t->value) {
        t->value = value;
        l = take_listeners(t);
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    tell(l, &done);
}

bool
glow_timeline_fail(glow_timeline *t, glow_outcome outcome, const char *text)
{
    glow_report_text failure = {.outcome = outcome};
    listener *l = NULL;
    bool first;

    snprintf(failure.text, sizeof failure.text, "%s", text);
    pthread_mutex_lock(&t->lock);
    first = t->failure.outcome == GLOW_RUN_DONE;
    if (first) {
        t->failure = failure;
        l = take_listeners(t);
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    tell(l, &failure);
    return first;
}

/* The state of the fence; GLOW_RUN_LATE: neither reached nor failed. */
static glow_outcome
state_of(const glow_timeline *t, uint64_t value)
{
    if (t->value >= value)
        return GLOW_RUN_DONE;
    return t->failure.outcome == GLOW_RUN_DONE ? GLOW_RUN_LATE
                                               : t->failure.outcome;
}

glow_outcome
glow_fence_wait(glow_fence f, int64_t deadline, glow_report_text *why)
{
    glow_timeline *t = f.timeline;
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000),
                             .tv_nsec = (long)(deadline % 1000000000)};
    glow_outcome o;
    int rc = 0;

    if (why)
        *why = (glow_report_text){0};
    if (!t)
        return GLOW_RUN_DONE;
    pthread_mutex_lock(&t->lock);
    while (t->value < f.value && t->failure.outcome == GLOW_RUN_DONE &&
           rc != ETIMEDOUT)
        rc = deadline == INT64_MAX
                 ? pthread_cond_wait(&t->changed, &t->lock)
                 : pthread_cond_timedwait(&t->changed, &t->lock, &until);
    o = state_of(t, f.value);
    if (why && o != GLOW_RUN_DONE)
        *why = t->failure;
    pthread_mutex_unlock(&t->lock);
    if (why)
        why->outcome = o;
    return o;
}

void
glow_fence_then(glow_fence f, glow_fence_fn fn, void *user)
{
    glow_report_text now = {0};
    glow_timeline *t = f.timeline;
    bool waits = false;

    if (t) {
        listener *l = glow_heap_new(sizeof *l);

        pthread_mutex_lock(&t->lock);
        waits = t->value < f.value && t->failure.outcome == GLOW_RUN_DONE;
        if (waits) {
            *l = (listener){.value = f.value, .fn = fn, .user = user};
            *t->last = l;
            t->last = &l->next;
        } else if (t->value < f.value) {
            now = t->failure;
        }
        pthread_mutex_unlock(&t->lock);
        if (!waits)
            free(l);
    }
    if (!waits)
        fn(user, &now);
}

/*
 * The thread of a host that ends late requests, lets batches go that waited long
 * enough, and has devices reset by threads of their own.
 */

#include <stdio.h>
#include <time.h>

#include "runtime/state.h"

#define RETRY_NS INT64_C(5000000000) /* between resets of a device that fail */

static void
earlier(int64_t *at, int64_t other)
{
    *at = other < *at ? other : *at;
}

/* Ends late requests; the time of the next one. */
static int64_t
end_late(glow_host *h, int64_t now, todo *t)
{
    int64_t next = INT64_MAX;

    for (glow_request *r = h->live, *live; r; r = live) {
        live = r->live;
        if (!r->deadline)
            continue;
        if (r->deadline > now) {
            earlier(&next, r->deadline);
            continue;
        }
        glow_run_finish(r, GLOW_RUN_LATE, "the deadline passed", t);
        live = h->live; /* others may have ended */
    }
    return next;
}

/*
 * The first time at which a command of `x` may have gone on for longer than `limit`, not
 * counting the time in which its device, in this process, loaded networks.
 */
static int64_t
limit_of(const execution *x, int64_t now, int64_t limit)
{
    int64_t since = __atomic_load_n(&x->since, __ATOMIC_RELAXED);
    int64_t loaded = x->on->device->host_memory ? x->on->device->loaded : 0;

    since = since ? since : now; /* none goes on now */
    return (since > loaded ? since : loaded) + limit;
}

/* Distrusts devices whose runs take too long; the time of the next one. */
static int64_t
find_hung(glow_host *h, int64_t now)
{
    int64_t next = INT64_MAX, limit = h->options.limit_ns;

    if (!limit)
        return next;
    for (glow_request *r = h->live; r; r = r->live)
        for (execution *x = r->executions; x; x = x->sibling) {
            device *d = x->started ? x->on->device : NULL;
            int64_t at;

            if (!d || d->state != GLOW_RUN_DEVICE_READY ||
                (d->loading && d->host_memory))
                continue;
            at = limit_of(x, now, limit);
            if (at > now)
                earlier(&next, at);
            else
                glow_run_distrust(d);
        }
    return next;
}

/* Ends requests that a device which is lost for good will never finish. */
static void
abandon(device *d, todo *t)
{
    glow_host *h = d->host;
    char text[200];

    snprintf(text, sizeof text, "device %s does not come back", d->name);
    for (glow_request *r = h->live, *live; r; r = live) {
        bool hit = false;

        live = r->live;
        for (execution *x = r->executions; x; x = x->sibling)
            hit = hit || (x->started && x->on->device == d);
        if (!hit)
            continue;
        glow_run_finish(r, GLOW_RUN_LOST, text, t);
        live = h->live;
    }
    glow_run_desert(d, t);
}

static void *
reset(void *user)
{
    device *d = user;
    bool works = d->api->reset(d->at);
    todo t;

    glow_run_lock(d->host, &t);
    d->state = works ? GLOW_RUN_DEVICE_READY : GLOW_RUN_DEVICE_LOST;
    if (works)
        glow_run_pump(d, &t);
    else
        abandon(d, &t);
    glow_run_unlock(d->host, &t);
    glow_run_lock(d->host, &t);
    d->reset = HAS_RESET;
    d->tried = glow_now();
    pthread_cond_broadcast(&d->host->changed);
    glow_run_unlock(d->host, &t);
    return NULL;
}

/* The time when a device that was lost is to be reset; INT64_MAX: it is not. */
static int64_t
reset_at(const device *d)
{
    if (d->reset != NO_RESET || d->state == GLOW_RUN_DEVICE_READY)
        return INT64_MAX;
    if (d->state == GLOW_RUN_DEVICE_SUSPECT)
        return 0;
    return d->host->closing ? INT64_MAX : d->tried + RETRY_NS;
}

/*
 * Starts threads that reset devices, which may take as long as a network takes to be
 * loaded, and ends those that have.  True if some go on; `next`: when the next one is due.
 */
static bool
reset_devices(glow_host *h, int64_t now, int64_t *next, todo *t)
{
    bool some = false;

    for (device *d = h->devices; d; d = d->next) {
        if (d->reset == HAS_RESET) {
            pthread_join(d->resets, NULL);
            d->reset = NO_RESET;
        }
        if (reset_at(d) <= now) {
            if (pthread_create(&d->resets, NULL, reset, d) == 0) {
                d->reset = RESETTING;
            } else {
                d->state = GLOW_RUN_DEVICE_LOST;
                d->tried = now;
                abandon(d, t);
            }
        }
        earlier(next, reset_at(d));
        some = some || d->reset == RESETTING;
    }
    return some;
}

static void
wait_until(glow_host *h, int64_t at)
{
    struct timespec until = {.tv_sec = (time_t)(at / 1000000000),
                             .tv_nsec = (long)(at % 1000000000)};

    h->wakes = at;
    if (at == INT64_MAX)
        pthread_cond_wait(&h->changed, &h->lock);
    else
        pthread_cond_timedwait(&h->changed, &h->lock, &until);
    h->wakes = 0;
}

void
glow_run_watch_by(glow_host *h, int64_t at)
{
    if (h->wakes > at)
        pthread_cond_broadcast(&h->changed);
}

void *
glow_run_watch(void *user)
{
    glow_host *h = user;
    todo t;

    glow_run_lock(h, &t);
    for (;;) {
        int64_t now = glow_now(), next;
        bool resets;

        next = end_late(h, now, &t);
        earlier(&next, find_hung(h, now));
        for (service *s = h->services; s; s = s->next)
            earlier(&next, glow_run_batch(s, now, &t));
        resets = reset_devices(h, now, &next, &t);
        if (t.start || t.end || t.batch) {
            glow_run_unlock(h, &t);
            glow_run_lock(h, &t);
            continue;
        }
        if (h->closing && !h->live && !resets)
            break;
        wait_until(h, next);
    }
    glow_run_unlock(h, &t);
    return NULL;
}

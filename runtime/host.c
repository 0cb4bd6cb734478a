#include "glow/host.h"

#include <stdlib.h>
#include <string.h>

#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/state.h"

glow_host *
glow_host_new(const glow_host_options *o)
{
    glow_host *h = glow_heap_new(sizeof *h);
    pthread_condattr_t monotonic;

    if (o)
        h->options = *o;
    if (h->options.queue <= 0)
        h->options.queue = 200;
    if (!h->options.executor)
        h->options.executor =
            glow_executor_open(NULL, "threads"); /* reports nothing */
    if (h->options.trace)
        h->trace = glow_run_trace_new();
    h->arena = glow_arena_new();
    h->names = glow_map_new(h->arena);
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&h->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&h->watch, NULL, glow_run_watch, h) != 0)
        glow_no_memory(0);
    return h;
}

const char *
glow_run_name(glow_host *h, const char *name)
{
    char *copy;

    pthread_mutex_lock(&h->lock);
    copy = glow_map_get(h->names, name);
    if (!copy) {
        copy = glow_arena_strdup(h->arena, name);
        glow_map_set(h->names, copy, copy);
    }
    pthread_mutex_unlock(&h->lock);
    return copy;
}

/* Takes no more requests, and ends those that wait. */
static void
close_queues(glow_host *h, glow_outcome o, todo *t)
{
    const char *const why = "the host is closing";

    h->closing = true;
    while (h->queue)
        glow_run_finish(h->queue, o, why, t);
    for (glow_request *r = h->live, *live; r; r = live) {
        bool is_begun =
            r->taken > 0; /* of a member, some of whose samples have run */

        live = r->live;
        if (r->state != HELD && (r->state != WAITS || is_begun))
            continue;
        glow_run_finish(r, o, why, t);
        live = h->live; /* others may have ended */
    }
    pthread_cond_broadcast(&h->changed);
}

/* The thread of watch.c ends behind the last request. */
static void
drain(glow_host *h)
{
    todo t;

    glow_run_lock(h, &t);
    close_queues(h, GLOW_RUN_REFUSED, &t);
    glow_run_unlock(h, &t);
    pthread_join(h->watch, NULL);
}

void
glow_host_cancel(glow_host *h)
{
    todo t;

    glow_run_lock(h, &t);
    close_queues(h, GLOW_RUN_CANCELLED, &t);
    for (glow_request *r = h->live, *live; r; r = live) {
        live = r->live;
        if (r->slices) /* a batch, of which nobody hears */
            continue;
        glow_run_finish(r, GLOW_RUN_CANCELLED, "the host is closing", &t);
        live = h->live;
    }
    glow_run_unlock(h, &t);
}

/* One that is to be removed, which nothing finds any more; NULL: none is left. */
static service *
next_service(glow_host *h)
{
    service *s;

    pthread_mutex_lock(&h->lock);
    for (s = h->services; s && s->leaving;)
        s = s->next;
    if (s)
        s->leaving = true;
    pthread_mutex_unlock(&h->lock);
    return s;
}

void
glow_host_free(glow_host *h)
{
    service *s;

    drain(h);
    while ((s = next_service(h)) != NULL)
        glow_run_service_drop(s);
    pthread_mutex_lock(&h->lock);
    while (h->n_services > 0)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    while (h->devices) {
        device *d = h->devices;

        h->devices = d->next;
        d->api->close(d->at);
        free(d);
    }
    glow_executor_close(h->options.executor);
    if (h->trace)
        glow_run_trace_free(h->trace);
    glow_arena_free(h->arena);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

bool
glow_host_add_device(glow_host *h, glow_context *ctx,
                     const glow_run_device_api *api,
                     const glow_run_device_options *o)
{
    glow_run_device_options own = *o;
    glow_run_device_info info;
    bool taken;
    device *d = glow_heap_new(sizeof *d), **last;

    d->name = glow_run_name(h, o->name);
    d->group = o->group ? glow_run_name(h, o->group) : d->name;
    own.name = d->name;
    own.executor = h->options.executor;
    d->host = h;
    d->api = api;
    d->at = api->open(ctx, &own);
    if (!d->at) {
        free(d);
        return false;
    }
    api->info(d->at, &info);
    d->host_memory = info.host_memory;
    d->most = DEPTH * info.queues;
    pthread_mutex_lock(&h->lock);
    for (last = &h->devices; *last && strcmp((*last)->name, d->name) != 0;)
        last = &(*last)->next;
    taken = *last != NULL;
    if (!taken) {
        *last = d;
        h->n_devices++;
    }
    pthread_mutex_unlock(&h->lock);
    if (!taken)
        return true;
    api->close(d->at);
    free(d);
    return glow_error(ctx, "E1005", "there are two devices %s", o->name);
}

void
glow_host_trace(glow_host *h, glow_buf *b)
{
    if (h->trace)
        glow_run_trace_print(h->trace, b);
}

/*
 * Devices in this process: a queue whose threads call the backend's run.
 *
 * The kind sim does the same, but takes its time by the clock, has memory that the
 * host cannot address, and fails when it was told to.
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/heap.h"
#include "runtime/loaded.h"
#include "runtime/queue.h"

struct glow_run_device {
    glow_run_device_options options;
    bool is_sim;
    run_queue *runs, *copies; /* one, if it is no sim */
    pthread_mutex_t lock;
    pthread_cond_t woken; /* of a run that hangs */
    glow_run_device_state state;
    int64_t used;
    glow_run_device_statistics counts;
    int n_runs, running;
    uint64_t era; /* a greater one ends runs that hang */
};

static glow_run_device *
open_device(const glow_run_device_options *o, bool is_sim)
{
    glow_run_device *d = glow_heap_new(sizeof *d);

    d->options = *o;
    d->is_sim = is_sim;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->woken, NULL);
    d->runs = glow_run_queue_new(o->serial ? 0 : o->queues > 0 ? o->queues : 1);
    d->copies = is_sim ? glow_run_queue_new(o->serial ? 0 : 1) : d->runs;
    return d;
}

static glow_run_device *
open_local(glow_context *ctx, const glow_run_device_options *o)
{
    (void)ctx;
    return open_device(o, false);
}

static glow_run_device *
open_sim(glow_context *ctx, const glow_run_device_options *o)
{
    (void)ctx;
    return open_device(o, true);
}

/* Wakes runs that hang, which fail then. */
static void
wake(glow_run_device *d, glow_run_device_state state)
{
    pthread_mutex_lock(&d->lock);
    d->state = state;
    d->era++;
    pthread_cond_broadcast(&d->woken);
    pthread_mutex_unlock(&d->lock);
}

static void
close_device(glow_run_device *d)
{
    wake(d, GLOW_RUN_DEVICE_LOST);
    glow_run_queue_end(d->runs);
    if (d->is_sim)
        glow_run_queue_end(d->copies);
    pthread_cond_destroy(&d->woken);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void
info(glow_run_device *d, glow_run_device_info *out)
{
    pthread_mutex_lock(&d->lock);
    *out = (glow_run_device_info){
        .state = d->state,
        .memory = d->options.memory,
        .used = d->used,
        .queues = d->options.queues > 0 ? d->options.queues : 1,
        .host_memory = !d->is_sim,
    };
    pthread_mutex_unlock(&d->lock);
}

static void
statistics(glow_run_device *d, glow_run_device_statistics *out)
{
    pthread_mutex_lock(&d->lock);
    *out = d->counts;
    pthread_mutex_unlock(&d->lock);
}

/* Memory. */

static bool
reserve(glow_run_device *d, int64_t bytes)
{
    bool ok;

    pthread_mutex_lock(&d->lock);
    ok = d->state != GLOW_RUN_DEVICE_LOST && bytes >= 0 &&
         (!d->options.memory || bytes <= d->options.memory - d->used);
    if (ok)
        d->used += bytes;
    pthread_mutex_unlock(&d->lock);
    return ok;
}

static void
give_back(glow_run_device *d, int64_t bytes)
{
    pthread_mutex_lock(&d->lock);
    d->used -= bytes;
    pthread_mutex_unlock(&d->lock);
}

static bool
allocate(glow_run_device *d, int64_t bytes, glow_buffer *out)
{
    void *p;

    if (!reserve(d, bytes))
        return false;
    /* Whole lines, as kernels of the host like them. */
    p = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64 + 64);
    if (!p) {
        give_back(d, bytes);
        return false;
    }
    *out = (glow_buffer){
        .host = d->is_sim ? NULL : p,
        .at = (uint64_t)(uintptr_t)p,
        .bytes = bytes,
    };
    return true;
}

static void
free_buffer(glow_run_device *d, glow_buffer *b)
{
    free((void *)(uintptr_t)b->at);
    give_back(d, b->bytes);
    *b = (glow_buffer){0};
}

static void *
address(const glow_buffer *b)
{
    return b->at ? (void *)(uintptr_t)b->at : b->host;
}

/* Time. */

static void
sleep_until(int64_t at)
{
    struct timespec t = {.tv_sec = (time_t)(at / 1000000000),
                         .tv_nsec = (long)(at % 1000000000)};

    while (glow_now() < at)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Copies. */

typedef struct copying {
    glow_run_device *device;
    void *to;
    const void *from;
    size_t bytes;
    bool in;
} copying;

static bool
is_lost(glow_run_device *d, glow_report_text *r)
{
    bool lost;

    pthread_mutex_lock(&d->lock);
    lost = d->state == GLOW_RUN_DEVICE_LOST;
    pthread_mutex_unlock(&d->lock);
    if (lost)
        snprintf(r->text, sizeof r->text, "device %s is lost", d->options.name);
    return lost;
}

static glow_outcome
do_copy(void *work, int worker, glow_report_text *r)
{
    copying *c = work;
    glow_run_device *d = c->device;
    int64_t begin = glow_now();

    (void)worker;
    if (is_lost(d, r))
        return GLOW_RUN_CANCELLED;
    memcpy(c->to, c->from, c->bytes);
    if (d->is_sim)
        sleep_until(begin + d->options.copy_ps * (int64_t)c->bytes / 1000);
    pthread_mutex_lock(&d->lock);
    *(c->in ? &d->counts.bytes_in : &d->counts.bytes_out) += (int64_t)c->bytes;
    pthread_mutex_unlock(&d->lock);
    return GLOW_RUN_DONE;
}

static void
copy(glow_run_device *d, const glow_buffer *to, const glow_buffer *from,
     const glow_command *command)
{
    copying *c = glow_heap_new(sizeof *c);

    *c = (copying){
        .device = d,
        .to = address(to),
        .from = address(from),
        .bytes = (size_t)(to->bytes < from->bytes ? to->bytes : from->bytes),
        .in = to->at != 0,
    };
    glow_run_queue_put(d->copies, command, do_copy, c);
}

/* Runs. */

typedef struct running {
    glow_run_device *device;
    glow_loaded *loaded;
    void *at[];
} running;

static glow_loaded *
load(glow_run_device *d, glow_context *ctx, const glow_load_options *o)
{
    glow_loaded *l = glow_run_load(ctx, &d->options, o);

    if (!l || reserve(d, l->bytes))
        return l;
    glow_error(ctx, "E1001",
               "device %s has no room for %s: it needs %" PRId64
               " bytes, and %" PRId64 " of %" PRId64 " are free",
               d->options.name, o->path, l->bytes, d->options.memory - d->used,
               d->options.memory);
    glow_run_unload(l);
    return NULL;
}

static void
unload(glow_run_device *d, glow_loaded *l)
{
    give_back(d, l->bytes);
    glow_run_unload(l);
}

static int
ports(const glow_loaded *l, const glow_port **out)
{
    *out = l->ports;
    return l->n_ports;
}

static int64_t
bytes(const glow_loaded *l)
{
    return l->bytes;
}

/* The faults that a sim was asked for; GLOW_RUN_DONE: none. */
static glow_outcome
misbehave(glow_run_device *d, int number, glow_report_text *r)
{
    const glow_run_device_options *o = &d->options;
    uint64_t era;

    if (number == o->fail_at) {
        snprintf(r->text, sizeof r->text, "device %s failed run %d, as told",
                 o->name, number);
        return GLOW_RUN_FAILED;
    }
    if (number == o->die_at) {
        wake(d, GLOW_RUN_DEVICE_LOST);
        snprintf(r->text, sizeof r->text, "device %s died in run %d, as told",
                 o->name, number);
        return GLOW_RUN_LOST;
    }
    if (number == o->hang_at) {
        pthread_mutex_lock(&d->lock);
        for (era = d->era; era == d->era;)
            pthread_cond_wait(&d->woken, &d->lock);
        pthread_mutex_unlock(&d->lock);
        snprintf(r->text, sizeof r->text, "device %s hung", o->name);
        return GLOW_RUN_LOST;
    }
    return is_lost(d, r) ? GLOW_RUN_CANCELLED : GLOW_RUN_DONE;
}

static glow_outcome
do_run(void *work, int worker, glow_report_text *r)
{
    running *x = work;
    glow_run_device *d = x->device;
    int64_t begin = glow_now();
    glow_outcome o;
    int number;

    pthread_mutex_lock(&d->lock);
    number = ++d->n_runs;
    d->running++;
    pthread_mutex_unlock(&d->lock);
    o = d->is_sim ? misbehave(d, number, r) : GLOW_RUN_DONE;
    if (o == GLOW_RUN_DONE)
        o = glow_run_loaded(x->loaded, worker, x->at, r);
    if (o == GLOW_RUN_DONE && d->is_sim)
        sleep_until(begin + d->options.run_ns);
    pthread_mutex_lock(&d->lock);
    d->running--;
    d->counts.runs++;
    d->counts.failures += o != GLOW_RUN_DONE;
    d->counts.busy_ns += glow_now() - begin;
    pthread_mutex_unlock(&d->lock);
    return o;
}

static void
submit(glow_run_device *d, glow_loaded *l, const glow_buffer *buffers,
       const glow_command *c)
{
    running *x = glow_heap_new(sizeof *x + (size_t)l->n_ports * sizeof *x->at);

    x->device = d;
    x->loaded = l;
    for (int i = 0; i < l->n_ports; i++)
        x->at[i] = address(&buffers[i]);
    glow_run_queue_put(d->runs, c, do_run, x);
}

static void
cancel(glow_run_device *d, glow_timeline *t)
{
    glow_run_queue_cancel(d->runs, t, GLOW_RUN_CANCELLED, "it was cancelled");
    if (d->is_sim)
        glow_run_queue_cancel(d->copies, t, GLOW_RUN_CANCELLED, "it was cancelled");
}

/* A thread that runs cannot be stopped; a sim stops by itself. */
static bool
reset(glow_run_device *d)
{
    char text[200];
    bool stuck;

    snprintf(text, sizeof text, "device %s was reset", d->options.name);
    glow_run_queue_cancel(d->runs, NULL, GLOW_RUN_CANCELLED, text);
    if (d->is_sim)
        glow_run_queue_cancel(d->copies, NULL, GLOW_RUN_CANCELLED, text);
    pthread_mutex_lock(&d->lock);
    stuck = !d->is_sim && d->running > 0;
    pthread_mutex_unlock(&d->lock);
    wake(d, stuck ? GLOW_RUN_DEVICE_LOST : GLOW_RUN_DEVICE_READY);
    return !stuck;
}

#define IN_THIS_PROCESS                                                        \
    .close = close_device, .info = info, .statistics = statistics,             \
    .allocate = allocate, .free = free_buffer, .copy = copy, .load = load,     \
    .unload = unload, .ports = ports, .bytes = bytes, .submit = submit,        \
    .cancel = cancel, .reset = reset

const glow_run_device_api glow_run_device_local = {
    .kind = "local",
    .open = open_local,
    IN_THIS_PROCESS,
};

const glow_run_device_api glow_run_device_sim = {
    .kind = "sim",
    .open = open_sim,
    IN_THIS_PROCESS,
};

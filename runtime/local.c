/*
 * Devices in this process: a queue whose commands call the backend's run, and another for
 * copies if the backend has memory of its own.  The kind sim has memory that the host does
 * not use, and the faults and times of sim.c.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "glow/backend.h"
#include "glow/diag.h"
#include "runtime/device.h"
#include "runtime/heap.h"
#include "runtime/loaded.h"
#include "runtime/sim.h"

struct glow_run_device {
    run_base base; /* its lock is that of all below */
    run_sim *sim;  /* NULL: none */
    void *memory;  /* of the backend; NULL: buffers are of the host's */
    run_queue *runs, *copies; /* one queue for memory of the host */
    int running;
};

static void
set_state(glow_run_device *d, glow_run_device_state state)
{
    if (d->sim)
        glow_run_sim_wake(d->sim, state);
    else
        glow_run_base_set_state(&d->base, state);
}

static void
close_device(glow_run_device *d)
{
    set_state(d, GLOW_RUN_DEVICE_LOST);
    glow_run_queue_end(d->runs);
    if (d->copies != d->runs)
        glow_run_queue_end(d->copies);
    if (d->memory)
        d->base.options.backend->memory->close(d->memory);
    glow_run_sim_free(d->sim);
    glow_run_base_end(&d->base);
    free(d);
}

/* False after a report. */
static bool
open_memory(glow_run_device *d, glow_context *ctx)
{
    const glow_run_device_options *o = &d->base.options;
    const glow_backend_memory *m = d->sim ? NULL : o->backend->memory;

    if (m)
        d->memory = m->open(ctx, o->code, o->memory);
    return !m || d->memory;
}

static bool
has_own_memory(const glow_run_device *d)
{
    return d->sim || d->memory;
}

static glow_run_device *
open_device(glow_context *ctx, const glow_run_device_options *o, bool is_sim)
{
    glow_run_device *d = glow_heap_new(sizeof *d);
    bool ok;

    glow_run_base_begin(&d->base, o);
    d->sim = is_sim ? glow_run_sim_new(&d->base) : NULL;
    ok = open_memory(d, ctx);
    if (ok) {
        d->runs =
            glow_run_queue_new(o->executor, o->queues > 0 ? o->queues : 1);
        d->copies = d->runs && has_own_memory(d)
                        ? glow_run_queue_new(o->executor, 1)
                        : d->runs;
        if (d->runs && d->copies)
            return d;
        glow_error(ctx, "E1009", "device %s: a thread cannot be started",
                   o->name);
    }
    close_device(d);
    return NULL;
}

static glow_run_device *
open_local(glow_context *ctx, const glow_run_device_options *o)
{
    return open_device(ctx, o, false);
}

static glow_run_device *
open_sim(glow_context *ctx, const glow_run_device_options *o)
{
    return open_device(ctx, o, true);
}

static void
info(glow_run_device *d, glow_run_device_info *out)
{
    glow_run_base_info(&d->base, out);
    out->host_memory = !has_own_memory(d);
}

static bool
allocate(glow_run_device *d, int64_t bytes, glow_buffer *out)
{
    void *p = NULL;
    uint64_t at;

    if (!glow_run_base_reserve(&d->base, bytes))
        return false;
    if (!d->memory)
        p = glow_heap_lines((size_t)bytes);
    at = d->memory ? d->base.options.backend->memory->allocate(d->memory, bytes)
                   : (uint64_t)(uintptr_t)p;
    if (!at) {
        glow_run_base_give_back(&d->base, bytes);
        return false;
    }
    *out = (glow_buffer){
        .host = has_own_memory(d) ? NULL : p,
        .at = at,
        .bytes = bytes,
    };
    return true;
}

static void
free_buffer(glow_run_device *d, glow_buffer *b)
{
    if (d->memory)
        d->base.options.backend->memory->free(d->memory, b->at);
    else
        free((void *)(uintptr_t)b->at);
    glow_run_base_give_back(&d->base, b->bytes);
    *b = (glow_buffer){0};
}

/* Copies. */

static void
copy(glow_run_device *d, const glow_buffer *to, const glow_buffer *from,
     const glow_command *command)
{
    bool in = to->at != 0;
    const run_copy c = {
        .base = &d->base,
        .memory = d->memory,
        .host = in ? from->host : to->host,
        .at = in ? to->at : from->at,
        .bytes = to->bytes < from->bytes ? to->bytes : from->bytes,
        .ps = d->sim ? d->base.options.copy_ps : 0,
        .in = in,
    };

    glow_run_base_copy(d->copies, &c, command);
}

/* Runs. */

typedef struct running {
    glow_run_device *device;
    glow_loaded *loaded;
    void *memory; /* that the buffers are in; NULL: of the host */
    uint64_t at[];
} running;

static glow_loaded *
load(glow_run_device *d, glow_context *ctx, const glow_load_options *o)
{
    glow_loaded *l = glow_run_load(ctx, &d->base.options, o);

    if (!l || glow_run_base_reserve_network(&d->base, ctx, o->path, l->bytes))
        return l;
    glow_run_unload(l);
    return NULL;
}

static void
unload(glow_run_device *d, glow_loaded *l)
{
    glow_run_base_give_back(&d->base, l->bytes);
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

static void
note_running(glow_run_device *d, int more)
{
    pthread_mutex_lock(&d->base.lock);
    d->running += more;
    pthread_mutex_unlock(&d->base.lock);
}

static glow_outcome
do_run(void *work, int worker, glow_report_text *r)
{
    running *x = work;
    glow_run_device *d = x->device;
    int64_t begin = glow_now();
    glow_outcome o;

    note_running(d, 1);
    o = d->sim ? glow_run_sim_begin(d->sim, r) : GLOW_RUN_DONE;
    if (o == GLOW_RUN_DONE)
        o = glow_run_loaded(x->loaded, worker, x->memory, x->at, r);
    if (o == GLOW_RUN_DONE && d->sim)
        glow_run_sim_end(d->sim, begin);
    note_running(d, -1);
    glow_run_base_count(&d->base, o, begin);
    return o;
}

static void
submit(glow_run_device *d, glow_loaded *l, const glow_buffer *buffers,
       const glow_command *c)
{
    running *x = glow_heap_new(sizeof *x + (size_t)l->n_ports * sizeof *x->at);

    x->device = d;
    x->loaded = l;
    x->memory = d->memory;
    for (int i = 0; i < l->n_ports; i++) {
        if (!buffers[i].at)
            x->memory = NULL; /* the buffers are of the host, all of them */
        x->at[i] = buffers[i].at ? buffers[i].at
                                 : (uint64_t)(uintptr_t)buffers[i].host;
    }
    glow_run_queue_put(d->runs, c, do_run, x);
}

static void
cancel(glow_run_device *d, glow_timeline *t)
{
    glow_run_queue_cancel(d->runs, t, GLOW_RUN_CANCELLED, "it was cancelled");
    if (d->copies != d->runs)
        glow_run_queue_cancel(d->copies, t, GLOW_RUN_CANCELLED,
                              "it was cancelled");
}

/* A thread that runs cannot be stopped; a sim stops by itself. */
static bool
reset(glow_run_device *d)
{
    char text[200];
    bool stuck;

    snprintf(text, sizeof text, "device %s was reset", d->base.options.name);
    glow_run_queue_cancel(d->runs, NULL, GLOW_RUN_CANCELLED, text);
    if (d->copies != d->runs)
        glow_run_queue_cancel(d->copies, NULL, GLOW_RUN_CANCELLED, text);
    pthread_mutex_lock(&d->base.lock);
    stuck = !d->sim && d->running > 0;
    pthread_mutex_unlock(&d->base.lock);
    set_state(d, stuck ? GLOW_RUN_DEVICE_LOST : GLOW_RUN_DEVICE_READY);
    return !stuck;
}

#define IN_THIS_PROCESS                                                 \
    .close = close_device, .info = info,                                \
    .statistics = glow_run_base_statistics, .allocate = allocate,       \
    .free = free_buffer, .copy = copy, .load = load, .unload = unload,  \
    .ports = ports, .bytes = bytes, .submit = submit, .cancel = cancel, \
    .reset = reset

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

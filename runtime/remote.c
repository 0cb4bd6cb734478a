/*
 * Devices in a process of their own, so that a crash ends that alone.  Buffers lie in
 * memory that both processes map; a thread of the host sends a message for each run
 * and waits for the answer.  A process that was lost is started again, with the
 * networks that it had.
 */

#include <stdio.h>
#include <stdlib.h>

#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/remote.h"

enum { MOST_STARTS = 3 };

static void
close_device(glow_run_device *d)
{
    if (glow_run_base_is_lost(&d->base, NULL))
        glow_remote_kill(d); /* which ends a run that would be waited for */
    glow_run_queue_end(d->runs);
    glow_run_queue_end(d->copies);
    glow_remote_stop(d, false);
    glow_remote_end_sharing(d);
    glow_run_base_end(&d->base);
    pthread_mutex_destroy(&d->wire);
    free(d);
}

static glow_run_device *
open_device(glow_context *ctx, const glow_run_device_options *o)
{
    glow_run_device *d = glow_heap_new(sizeof *d);

    glow_run_base_begin(&d->base, o);
    d->socket = d->memory = -1;
    pthread_mutex_init(&d->wire, NULL);
    d->runs = glow_run_queue_new(o->executor, 1);
    d->copies = glow_run_queue_new(o->executor, 1);
    if (d->runs && d->copies && o->command && glow_remote_share(d) &&
        glow_remote_start(d))
        return d;
    if (d->runs && d->copies && o->command && !d->shared)
        glow_error(ctx, "E1009", "device %s: there is no memory to share",
                   o->name);
    else if (d->runs && d->copies)
        glow_error(ctx, "E1009", "device %s: the process %s cannot be started",
                   o->name, o->command ? o->command[0] : "without a command");
    else
        glow_error(ctx, "E1009", "device %s: a thread cannot be started",
                   o->name);
    glow_run_base_set_state(&d->base, GLOW_RUN_DEVICE_LOST);
    close_device(d);
    return NULL;
}

static void
info(glow_run_device *d, glow_run_device_info *out)
{
    glow_run_base_info(&d->base, out);
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
copy(glow_run_device *d, const glow_buffer *to, const glow_buffer *from,
     const glow_command *command)
{
    bool in = to->at != 0;
    const run_copy c = {
        .base = &d->base,
        .host = in ? from->host : to->host,
        .at = (uint64_t)(uintptr_t)(d->shared + (in ? to->at : from->at)),
        .bytes = to->bytes < from->bytes ? to->bytes : from->bytes,
        .in = in,
        .checksum = d->base.options.checksums,
    };

    glow_run_base_copy(d->copies, &c, command);
}

typedef struct running {
    glow_loaded *loaded;
    int64_t *since; /* of the command, or NULL */
    uint64_t at[];
} running;

/* Notes when the run begins; 0: it waits for the network that the process loads. */
static void
note_since(const running *x, int64_t at)
{
    if (x->since)
        __atomic_store_n(x->since, at, __ATOMIC_RELAXED);
}

static glow_outcome
do_run(void *work, int worker, glow_report_text *r)
{
    running *x = work;
    glow_run_device *d = x->loaded->device;
    const wire_head h = {
        .kind = WIRE_RUN,
        .size = (uint32_t)((size_t)x->loaded->n_ports * sizeof *x->at),
        .network = x->loaded->number,
    };
    int64_t begin = glow_now();
    glow_outcome o = GLOW_RUN_DONE;
    wire_head reply;
    void *answer;
    wire_end end;

    (void)worker;
    if (glow_run_base_is_lost(&d->base, r))
        return GLOW_RUN_CANCELLED;
    note_since(x, 0);
    pthread_mutex_lock(&d->wire);
    note_since(x, glow_now());
    end = glow_remote_transact(d, &h, x->at, -1, 0, &reply, &answer);
    if (end != WIRE_OK) {
        snprintf(r->text, sizeof r->text, "the process of device %s %s",
                 d->base.options.name, glow_remote_complaint(end));
        o = GLOW_RUN_LOST;
    } else if (reply.kind != WIRE_DONE) {
        snprintf(r->text, sizeof r->text, "%s",
                 glow_remote_failure(&reply, answer));
        o = reply.outcome == GLOW_RUN_FAILED ? GLOW_RUN_FAILED : GLOW_RUN_LOST;
    }
    pthread_mutex_unlock(&d->wire);
    free(answer);
    glow_run_base_count(&d->base, o, begin);
    return o;
}

static void
submit(glow_run_device *d, glow_loaded *l, const glow_buffer *buffers,
       const glow_command *c)
{
    running *x = glow_heap_new(sizeof *x + (size_t)l->n_ports * sizeof *x->at);

    x->loaded = l;
    x->since = c->since;
    for (int i = 0; i < l->n_ports; i++)
        x->at[i] = buffers[i].at;
    glow_run_queue_put(d->runs, c, do_run, x);
}

static void
cancel(glow_run_device *d, glow_timeline *t)
{
    glow_run_queue_cancel(d->runs, t, GLOW_RUN_CANCELLED, "it was cancelled");
    glow_run_queue_cancel(d->copies, t, GLOW_RUN_CANCELLED, "it was cancelled");
}

static bool
reset(glow_run_device *d)
{
    char text[200];
    bool ok = false;

    snprintf(text, sizeof text, "device %s was reset", d->base.options.name);
    glow_run_base_set_state(&d->base, GLOW_RUN_DEVICE_LOST);
    glow_remote_kill(d); /* which ends a run in it */
    glow_run_queue_cancel(d->runs, NULL, GLOW_RUN_CANCELLED, text);
    glow_run_queue_cancel(d->copies, NULL, GLOW_RUN_CANCELLED, text);
    pthread_mutex_lock(&d->wire);
    for (int tries = 0; tries < MOST_STARTS && !ok; tries++) {
        glow_remote_stop(d, true);
        ok = glow_remote_start_again(d);
    }
    glow_run_base_set_state(&d->base,
                            ok ? GLOW_RUN_DEVICE_READY : GLOW_RUN_DEVICE_LOST);
    pthread_mutex_unlock(&d->wire);
    return ok;
}

const glow_run_device_api glow_run_device_remote = {
    .kind = "remote",
    .open = open_device,
    .close = close_device,
    .info = info,
    .statistics = glow_run_base_statistics,
    .allocate = glow_remote_allocate,
    .free = glow_remote_free,
    .copy = copy,
    .load = glow_remote_load,
    .unload = glow_remote_unload,
    .ports = ports,
    .bytes = bytes,
    .submit = submit,
    .cancel = cancel,
    .reset = reset,
};

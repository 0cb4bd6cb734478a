/* Parts of requests on devices: their tries, and failures.  choose.c says where. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/executor.h"
#include "runtime/heap.h"
#include "runtime/state.h"

static void
end_execution(execution *x)
{
    execution **at = &x->request->executions;

    while (*at != x)
        at = &(*at)->sibling;
    *at = x->sibling;
    glow_timeline_unref(x->timeline);
    free(x->buffers);
    free(x);
}

/* Puts a try in the queue of a device. */
static void
place(execution *x, todo *t)
{
    replica *on = glow_run_choose_device(x->part, x->failed);

    if (!on) {
        glow_request *r = x->request;
        char text[200];

        snprintf(text, sizeof text, "no device is left for part %s",
                 x->part->name);
        end_execution(x);
        glow_run_finish(r, GLOW_RUN_LOST, text, t);
        return;
    }
    glow_run_queue_on(x, on);
    glow_run_pump(on->device, t);
}

static void
new_execution(glow_request *r, part *p, todo *t)
{
    execution *x = glow_heap_new(sizeof *x);

    *x = (execution){.request = r, .part = p, .sibling = r->executions};
    x->timeline = glow_timeline_new();
    x->buffers = glow_heap_new((size_t)p->n_ports * sizeof *x->buffers);
    r->executions = x;
    place(x, t);
}

void
glow_run_admit(glow_request *r, todo *t)
{
    const variant *x = r->variant;

    r->state = RUNS;
    r->parts_left = x->n_parts;
    free(r->waiting); /* of a try before */
    r->waiting = glow_heap_new((size_t)x->n_parts * sizeof *r->waiting);
    if (r->kept)
        glow_run_kept_bind(r);
    for (int v = 0; v < x->n_values; v++)
        if (!r->data[v] && !x->values[v].stays)
            r->data[v] = glow_run_block(r, v);
    for (int i = 0; i < x->n_parts; i++)
        r->waiting[i] = x->parts[i].n_waits_for;
    for (int i = 0; i < x->n_parts && !r->ended; i++)
        if (x->parts[i].n_waits_for == 0)
            new_execution(r, &x->parts[i], t);
}

/* Values that stay on a device. */

static resident *
resident_of(const execution *x, int port)
{
    int v = x->part->values[port];

    return x->request->variant->values[v].stays ? &x->request->residents[v]
                                                : NULL;
}

/* True if an input of `x` was in memory of a device that was lost since. */
static bool
is_stale(const execution *x)
{
    for (int i = 0; i < x->part->n_ports; i++) {
        const resident *m = x->part->ports[i].read ? resident_of(x, i) : NULL;

        if (m && !m->fill && m->lost != m->device->lost)
            return true;
    }
    return false;
}

/* Gives back memory of a request for which nothing runs. */
static void
free_residents(glow_request *r)
{
    for (int v = 0; v < r->variant->n_values; v++) {
        resident *m = &r->residents[v];

        if (m->device && !m->of_state)
            m->device->api->free(m->device->at, &m->buffer);
        m->device = NULL;
    }
}

/* Takes out tries that no device has begun. */
static void
drop_pending(glow_request *r)
{
    for (execution *x = r->executions, *sibling; x; x = sibling) {
        sibling = x->sibling;
        if (x->started)
            continue;
        glow_run_unqueue_try(x);
        end_execution(x);
    }
}

/* True if memory of a device alone has some of the state of `r`. */
static bool
has_state_there(const glow_request *r)
{
    for (int v = 0; v < r->variant->n_values; v++)
        if (r->residents[v].of_state)
            return true;
    return false;
}

/* True if `x` writes such state. */
static bool
writes_state(const execution *x)
{
    for (int i = 0; i < x->part->n_ports; i++) {
        const resident *m =
            x->part->ports[i].written ? resident_of(x, i) : NULL;

        if (m && m->of_state)
            return true;
    }
    return false;
}

/*
 * Runs all parts again, now or when the last execution has ended, unless state of the
 * request was lost too.
 */
static void
run_again(glow_request *r, todo *t)
{
    if (has_state_there(r)) {
        r->dirty = true;
        glow_run_finish(r, GLOW_RUN_LOST,
                        "its state was in memory of a device that was lost", t);
        return;
    }
    r->again = true;
    r->repeats++;
    drop_pending(r);
    if (r->executions)
        return;
    r->again = false;
    glow_run_admit(r, t);
}

void
glow_run_pump(device *d, todo *t)
{
    int64_t now = glow_now(), limit = d->host->options.limit_ns;

    while (d->outstanding < d->most && d->state == GLOW_RUN_DEVICE_READY &&
           (d->pending || glow_run_take_over(d))) {
        execution *x = d->pending;
        glow_request *r = x->request;

        glow_run_unqueue_try(x);
        if (is_stale(x)) {
            end_execution(x);
            run_again(r, t);
            continue;
        }
        if (limit)
            glow_run_watch_by(d->host, now + limit);
        d->outstanding++;
        d->backlog_ns += x->expected_ns;
        x->started = true;
        x->begun = now;
        x->lost = d->lost;
        r->refs++;
        if (r->kept && d->host_memory)
            r->dirty = r->service->in_place;
        else if (r->kept)
            r->dirty = r->dirty || writes_state(x);
        *t->last_start = x;
        t->last_start = &x->next;
    }
}

static void
count(const glow_request *r)
{
    service *s = r->service;
    int64_t took = glow_now() - r->arrived, most = 1024;
    int i = 0;

    s->ended[r->end.outcome]++;
    if (r->end.outcome != GLOW_RUN_DONE)
        return;
    s->inferences += r->samples;
    for (; took > most && i < LATENCIES - 1; i++)
        most *= 2;
    s->latency[i]++;
    s->latency_ns += took;
}

void
glow_run_finish(glow_request *r, glow_outcome o, const char *text, todo *t)
{
    if (r->ended)
        return;
    glow_run_end(r);
    r->end.outcome = o;
    snprintf(r->end.text, sizeof r->end.text, "%.*s",
             (int)sizeof r->end.text - 1, text);
    *r->live_link = r->live;
    if (r->live)
        r->live->live_link = r->live_link;
    if (r->host->closing && !r->host->live)
        pthread_cond_broadcast(&r->host->changed);
    if (r->left > 0)
        glow_run_leave(r);
    else if (r->state == WAITS)
        glow_run_unqueue(r);
    else if (r->state == HELD)
        glow_run_kept_unqueue(r);
    else if (r->state == RUNS)
        r->service->running--;
    if (!r->slices)
        count(r);
    drop_pending(r);
    if (r->kept && o == GLOW_RUN_DONE)
        glow_run_kept_commit(r);
    if (r->kept)
        glow_run_kept_leave(r, o == GLOW_RUN_DONE || !r->dirty, t);
    if (!r->executions)
        free_residents(r);
    *t->last_end = r;
    t->last_end = &r->next;
    glow_run_next(r->host, t);
}

void
glow_run_desert(device *d, todo *t)
{
    execution *x;

    /* One by one, since a request may end, with others of its tries. */
    while ((x = d->pending) != NULL) {
        glow_run_unqueue_try(x);
        place(x, t);
    }
}

/* The end of a try. */

/*
 * Notes the time of a try that is done: from its start, or from the end of the try before on
 * a device that runs one at a time.
 */
static void
note_time(const execution *x)
{
    const device *d = x->on->device;
    bool waited = d->most == DEPTH && d->ended > x->begun;
    int64_t took = glow_now() - (waited ? d->ended : x->begun);

    x->request->variant->busy_ns += took;
    glow_run_note_time(x->part, x->on, took);
}

static void
part_done(execution *x, todo *t)
{
    glow_request *r = x->request;
    const variant *of = r->variant;
    int number = (int)(x->part - of->parts), repeats = r->repeats;

    note_time(x);
    r->in_place = x->on->device->host_memory;
    end_execution(x);
    if (r->ended)
        return;
    if (r->again) {
        run_again(r, t);
        return;
    }
    if (--r->parts_left == 0) {
        glow_run_finish(r, GLOW_RUN_DONE, "", t);
        return;
    }
    /* A new execution may find that all are to run again. */
    for (int i = 0; i < of->n_parts && !r->ended && r->repeats == repeats; i++)
        for (int k = 0; k < of->parts[i].n_waits_for; k++)
            if (of->parts[i].waits_for[k] == number && --r->waiting[i] == 0) {
                new_execution(r, &of->parts[i], t);
                break;
            }
}

void
glow_run_distrust(device *d)
{
    if (d->state != GLOW_RUN_DEVICE_READY)
        return;
    d->state = GLOW_RUN_DEVICE_SUSPECT;
    d->lost++;
    pthread_cond_broadcast(&d->host->changed);
}

static bool
reads_resident(const execution *x)
{
    for (int i = 0; i < x->part->n_ports; i++)
        if (x->part->ports[i].read && resident_of(x, i))
            return true;
    return false;
}

static void
part_failed(execution *x, const glow_report_text *why, todo *t)
{
    glow_request *r = x->request;
    device *d = x->on->device;
    bool again =
        why->outcome == GLOW_RUN_LOST || why->outcome == GLOW_RUN_CANCELLED;
    char text[2 * sizeof why->text];

    if (why->outcome == GLOW_RUN_CANCELLED)
        r->dirty = false;            /* it did not begin */
    if (again && x->lost == d->lost) /* else it was reset since */
        glow_run_distrust(d);
    if (why->outcome == GLOW_RUN_LOST) {
        r->kills++;
        x->failed = x->on;
    }
    if (again && !r->ended && r->kills < 2 && (r->again || reads_resident(x))) {
        end_execution(x);
        run_again(r, t);
        return;
    }
    if (again && !r->ended && r->kills < 2) {
        glow_timeline_unref(x->timeline);
        x->timeline = glow_timeline_new();
        x->started = false;
        place(x, t);
        return;
    }
    snprintf(text, sizeof text, "part %s on %s: %s", x->part->name, d->name,
             why->text);
    end_execution(x);
    if (again && r->kills > 1)
        glow_run_finish(r, GLOW_RUN_REFUSED, "it ended two devices", t);
    else
        glow_run_finish(r, why->outcome, text, t);
}

static void
free_buffers(execution *x)
{
    device *d = x->on->device;

    for (int i = 0; i < x->part->n_ports; i++)
        if (x->buffers[i].at && !resident_of(x, i))
            d->api->free(d->at, &x->buffers[i]);
}

/* Called by the device once a try is done. */
static void
execution_done(void *user, const glow_report_text *why)
{
    execution *x = user;
    glow_request *r = x->request;
    glow_host *h = r->host;
    device *d = x->on->device;
    todo t;

    free_buffers(x);
    glow_run_lock(h, &t);
    if (h->trace)
        glow_run_trace_add(h->trace, x->part->name, d->name, r->number,
                           x->begun, glow_now());
    d->outstanding--;
    d->backlog_ns -= x->expected_ns;
    if (why->outcome == GLOW_RUN_DONE)
        part_done(x, &t);
    else
        part_failed(x, why, &t);
    d->ended = glow_now();
    if (r->kept && r->ended)
        glow_run_kept_leave(r, true, &t);
    if (r->ended && !r->executions)
        free_residents(r);
    glow_run_pump(d, &t);
    glow_run_unlock(h, &t);
    glow_run_request_drop(r);
}

/* Starting, without the lock. */

static bool
allocate_buffers(execution *x)
{
    device *d = x->on->device;

    for (int i = 0; i < x->part->n_ports; i++) {
        resident *m = resident_of(x, i);

        if (m && m->device) {
            x->buffers[i] = m->buffer;
        } else if (!d->api->allocate(d->at, x->part->ports[i].bytes,
                                     &x->buffers[i])) {
            return false;
        } else if (m) {
            m->device = d;
            m->buffer = x->buffers[i];
        }
        if (m && (x->part->ports[i].written || m->fill))
            m->lost = x->lost;
    }
    return true;
}

/* Raises the timeline to `step` + 1 after `step`. */
static glow_command
command_at(execution *x, uint64_t step)
{
    return (glow_command){
        .wait = {step ? x->timeline : NULL, step},
        .signal = {x->timeline, step + 1},
        .since = x->request->host->options.limit_ns ? &x->since : NULL,
    };
}

/* True if value `v` is an input and an output: then its block is of the output. */
static bool
is_both(const glow_request *r, int v)
{
    return r->variant->values[v].in && r->variant->values[v].out;
}

static void
copy(execution *x, int port, bool in, uint64_t step)
{
    glow_request *r = x->request;
    device *d = x->on->device;
    int v = x->part->values[port];
    const glow_buffer here = {
        .host = !in && is_both(r, v) ? glow_run_block(r, v)
                                     : (void *)(uintptr_t)r->data[v],
        .bytes = x->part->ports[port].bytes,
    };
    const glow_command c = command_at(x, step);

    d->api->copy(d->at, in ? &x->buffers[port] : &here,
                 in ? &here : &x->buffers[port], &c);
}

/* Copies in, a run, and copies out, one after the other; returns their number. */
static uint64_t
run_apart(execution *x)
{
    const part *p = x->part;
    device *d = x->on->device;
    uint64_t step = 0;
    glow_command c;

    for (int i = 0; i < p->n_ports; i++) {
        const resident *m = resident_of(x, i);

        if (p->ports[i].read && (!m || m->fill))
            copy(x, i, true, step++);
    }
    c = command_at(x, step++);
    d->api->submit(d->at, x->on->loaded, x->buffers, &c);
    for (int i = 0; i < p->n_ports; i++)
        if (p->ports[i].written && !resident_of(x, i))
            copy(x, i, false, step++);
    return step;
}

/* The memory of a value in which a run may write; kept values change in place. */
static void *
place_of(glow_request *r, int v)
{
    void *data = (void *)(uintptr_t)r->data[v];

    return is_both(r, v) && !r->variant->values[v].kept
               ? memcpy(glow_run_block(r, v), data,
                        (size_t)r->variant->values[v].bytes)
               : data;
}

/* Runs on memory of the host. */
static uint64_t
run_in_place(execution *x)
{
    const part *p = x->part;
    device *d = x->on->device;
    glow_buffer *b = glow_heap_new((size_t)p->n_ports * sizeof *b);
    const glow_command c = command_at(x, 0);

    for (int i = 0; i < p->n_ports; i++)
        b[i] = (glow_buffer){
            .host = place_of(x->request, p->values[i]),
            .bytes = p->ports[i].bytes,
        };
    d->api->submit(d->at, x->on->loaded, b, &c);
    free(b);
    return 1;
}

/* A try for which the device gave no memory: elsewhere, if it is lost. */
static void
fail_to_start(execution *x)
{
    device *d = x->on->device;
    glow_run_device_info i;

    d->api->info(d->at, &i);
    if (i.state == GLOW_RUN_DEVICE_LOST)
        glow_timeline_fail(x->timeline, GLOW_RUN_CANCELLED,
                           "the device is lost");
    else
        glow_timeline_fail(x->timeline, GLOW_RUN_REFUSED,
                           "there is no memory left");
}

void
glow_run_start(execution *x)
{
    device *d = x->on->device;
    const run_executor_kind *kind = d->host->options.executor->kind;
    /* Else a command may end before its listener below is there. */
    bool keeps = kind->keep && kind->keep(d->host->options.executor);
    uint64_t last = 1;

    if (d->host_memory)
        last = run_in_place(x);
    else if (allocate_buffers(x))
        last = run_apart(x);
    else
        fail_to_start(x);
    /* Last, since `x` is gone once it was called. */
    glow_fence_then((glow_fence){x->timeline, last}, execution_done, x);
    if (keeps)
        kind->run_kept(NULL, NULL);
}

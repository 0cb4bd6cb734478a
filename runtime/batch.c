/*
 * Batches: slices of requests, each of some samples, that run together as one request of
 * the runtime's own.  A request is done when all of its slices are.  If a batch fails, each
 * slice is tried alone, so that no request spoils another.
 */

#include <stdlib.h>
#include <string.h>

#include "runtime/heap.h"
#include "runtime/state.h"

/* Members. */

void
glow_run_join(glow_request *r)
{
    service *s = r->service;

    r->left = r->samples;
    s->samples += r->samples;
    r->host->queued++;
    glow_run_insert(&s->members, r);
}

/* Takes `r` out of the members, if it is one still. */
static void
leave_members(glow_request *r)
{
    service *s = r->service;
    glow_request **at = &s->members;

    while (*at && *at != r)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = r->next;
    r->next = NULL;
    r->host->queued--;
    s->samples -= r->samples - r->taken;
}

void
glow_run_leave(glow_request *r)
{
    service *s = r->service;
    slice **at = &s->alone;

    leave_members(r);
    while (*at) {
        slice *x = *at;

        if (x->request != r) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        free(x);
    }
    s->last_alone = at;
}

/* Making batches. */

/* Memory for the outputs, which several batches may write at once later on. */
static void
make_outputs(glow_request *r)
{
    for (int v = 0; v < r->service->n_values; v++)
        if (r->service->values[v].out)
            glow_run_block(r, v);
}

/* Takes the first `count` samples of the first member that no batch has taken. */
static slice *
cut(service *s, int count)
{
    glow_request *r = s->members;
    slice *x = glow_heap_new(sizeof *x);

    if (r->taken == 0)
        make_outputs(r);
    *x = (slice){.request = r, .first = r->taken, .count = count};
    r->taken += count;
    s->samples -= count;
    if (r->taken < r->samples)
        return x;
    s->members = r->next;
    r->next = NULL;
    s->host->queued--;
    r->state = MEMBER;
    return x;
}

/* Fills the batch with samples of members in their order. */
static void
gather(service *s, glow_request *b)
{
    slice **last = &b->slices;

    while (s->members && b->samples < b->variant->samples) {
        const glow_request *r = s->members;
        int n = r->samples - r->taken, room = b->variant->samples - b->samples;

        *last = cut(s, n < room ? n : room);
        b->samples += (*last)->count;
        last = &(*last)->next;
    }
}

/* A slice of a batch that failed. */
static void
gather_alone(service *s, glow_request *b)
{
    slice *x = s->alone;

    s->alone = x->next;
    if (!s->alone)
        s->last_alone = &s->alone;
    x->next = NULL;
    b->kills = x->suspect;
    b->slices = x;
    b->samples = x->count;
}

static void
make(service *s, todo *t)
{
    variant *x = s->alone ? glow_run_holds(s, s->alone->count)
                          : glow_run_choose(s, s->samples);
    glow_request *b = glow_run_request_new(s, x, NULL);

    s->running++;
    x->batches++;
    b->state = RUNS;
    b->samples = 0;
    glow_run_take_blocks(b, x->samples);
    glow_run_live(b);
    if (s->alone)
        gather_alone(s, b);
    else
        gather(s, b);
    s->batched += b->samples;
    b->key = b->slices->request->key;
    for (const slice *i = b->slices; i; i = i->next)
        i->request->refs++;
    *t->last_batch = b;
    t->last_batch = &b->next;
}

/* The time at which members go, though they fill no batch. */
static int64_t
due_of(const service *s)
{
    int64_t due = INT64_MAX;

    if (s->alone || s->host->closing)
        return 0;
    for (const glow_request *m = s->members; m; m = m->next)
        if (m->arrived + s->batch_ns < due)
            due = m->arrived + s->batch_ns;
    return due;
}

int64_t
glow_run_batch(service *s, int64_t now, todo *t)
{
    while ((s->members || s->alone) && s->running < s->most) {
        int64_t due = s->samples < s->batch ? due_of(s) : 0;

        if (due > now) {
            glow_run_watch_by(s->host, due);
            return due;
        }
        make(s, t);
    }
    return INT64_MAX;
}

/* Copies. */

void
glow_run_fill(glow_request *b)
{
    todo t;

    for (int i = 0; i < b->variant->n_values; i++) {
        const value *v = &b->variant->values[i];
        size_t one = (size_t)(v->bytes / b->variant->samples), at = 0;
        char *block;

        if (!v->in)
            continue;
        block = glow_run_block(b, i);
        for (const slice *x = b->slices; x; x = x->next) {
            const char *from = x->request->data[v->of];

            memcpy(block + at, from + one * (size_t)x->first,
                   one * (size_t)x->count);
            at += one * (size_t)x->count;
        }
        memset(block + at, 0, (size_t)v->bytes - at);
        b->data[i] =
            v->out ? glow_run_copy_input(b, block, (size_t)v->bytes) : block;
    }
    glow_run_lock(b->host, &t);
    glow_run_admit(b, &t);
    glow_run_unlock(b->host, &t);
}

static void
copy_outputs(const glow_request *b)
{
    for (int i = 0; i < b->variant->n_values; i++) {
        const value *v = &b->variant->values[i];
        size_t one = (size_t)(v->bytes / b->variant->samples), at = 0;

        if (!v->out)
            continue;
        for (const slice *x = b->slices; x; x = x->next) {
            char *to = x->request->blocks[v->of];

            memcpy(to + one * (size_t)x->first, (char *)b->blocks[i] + at,
                   one * (size_t)x->count);
            at += one * (size_t)x->count;
        }
    }
}

/* The end of a batch. */

/* True if a request of the batch is at fault: the network failed, or devices were lost. */
static bool
has_culprit(const glow_request *b)
{
    return b->end.outcome == GLOW_RUN_FAILED ||
           (b->end.outcome == GLOW_RUN_REFUSED && b->kills > 1);
}

/*
 * Lets a slice of `b` wait, to be tried alone.  If the batch ended two devices, one more is
 * enough to refuse the request.
 */
static void
try_alone(const glow_request *b, const slice *x)
{
    service *s = b->service;
    slice *again = glow_heap_new(sizeof *again);

    *again = (slice){.request = x->request,
                     .first = x->first,
                     .count = x->count,
                     .suspect = b->kills > 1};
    *s->last_alone = again;
    s->last_alone = &again->next;
}

/* Notes the end of a slice of `b`, which is `only` one. */
static void
end_slice(const glow_request *b, const slice *x, bool only, todo *t)
{
    glow_request *r = x->request;

    if (r->ended)
        return;
    if (has_culprit(b) && !only) {
        try_alone(b, x);
        return;
    }
    if (b->end.outcome == GLOW_RUN_DONE && r->left > x->count) {
        r->left -= x->count;
        return;
    }
    glow_run_finish(r, b->end.outcome, b->end.text, t);
}

void
glow_run_scatter(glow_request *b)
{
    slice *slices = b->slices;
    bool only = !slices->next;
    todo t;

    if (b->end.outcome == GLOW_RUN_DONE)
        copy_outputs(b);
    glow_run_lock(b->host, &t);
    for (const slice *x = slices; x; x = x->next)
        end_slice(b, x, only, &t);
    b->slices = NULL;
    glow_run_batch(b->service, glow_now(), &t);
    glow_run_unlock(b->host, &t);
    for (slice *x = slices, *next; x; x = next) {
        next = x->next;
        glow_run_request_drop(x->request);
        free(x);
    }
}

/* Requests: from the call to the queue, and from the end to the caller. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/executor.h"
#include "runtime/heap.h"
#include "runtime/state.h"

/* Memory. */

void *
glow_run_block(glow_request *r, int v)
{
    const variant *x = r->variant;
    int64_t all = x->values[v].bytes;
    size_t bytes =
        (size_t)(r->room == x->samples ? all : all / x->samples * r->room);

    if (r->blocks[v])
        return r->blocks[v];
    r->blocks[v] = glow_heap_lines(bytes);
    return r->blocks[v] ? r->blocks[v] : glow_no_memory(bytes);
}

void
glow_run_take_blocks(glow_request *r, int room)
{
    variant *x = r->variant;

    r->room = room;
    r->blocks = room == x->samples && x->n_spare > 0
                    ? x->spare[--x->n_spare]
                    : glow_heap_new((size_t)x->n_values * sizeof(void *));
}

static void
free_blocks(void **blocks, int n)
{
    for (int v = 0; v < n; v++)
        free(blocks[v]);
    free(blocks);
}

/* Keeps the blocks for the next request, as many as can run at once. */
static void
keep_blocks(glow_request *r)
{
    const service *s = r->service;
    variant *x = r->variant;

    if (!r->blocks || r->room != x->samples || s->leaving ||
        x->n_spare >= s->most)
        return;
    x->spare[x->n_spare++] = r->blocks;
    r->blocks = NULL;
}

glow_request *
glow_run_request_new(service *s, variant *x, const glow_request_options *o)
{
    static const glow_request_options none;
    glow_request *r = glow_heap_new(sizeof *r);
    size_t n = (size_t)x->n_values;

    o = o ? o : &none;
    r->host = s->host;
    r->service = s;
    r->variant = x;
    r->number = s->host->count++;
    s->refs++;
    s->requests++;
    r->refs = 1;
    r->arrived = glow_now();
    r->deadline = o->deadline;
    r->key = r->arrived - (int64_t)o->priority * AGE_NS;
    r->then = o->then;
    r->user = o->user;
    r->kept = o->state;
    if (r->kept)
        glow_run_kept_ref(r->kept);
    r->timeline = glow_timeline_new();
    r->samples = 1;
    r->data = glow_heap_new(n * sizeof *r->data);
    r->inputs = glow_heap_new(n * sizeof *r->inputs);
    r->residents = glow_heap_new(n * sizeof *r->residents);
    return r;
}

void
glow_run_request_drop(glow_request *r)
{
    glow_host *h = r->host;
    service *s = r->service;

    pthread_mutex_lock(&h->lock);
    if (--r->refs > 0) {
        pthread_mutex_unlock(&h->lock);
        return;
    }
    keep_blocks(r);
    pthread_mutex_unlock(&h->lock);
    for (int i = 0; i < r->n_inputs; i++)
        r->inputs[i].release(r->inputs[i].user);
    if (r->blocks)
        free_blocks(r->blocks, r->variant->n_values);
    if (r->kept)
        glow_service_state_release(r->kept);
    glow_timeline_unref(r->timeline);
    free(r->waiting);
    free(r->inputs);
    free(r->residents);
    free(r->data);
    free(r);
    glow_run_service_drop(s); /* after which the host may be gone */
}

/* Queues. */

void
glow_run_insert(glow_request **queue, glow_request *r)
{
    while (*queue && (*queue)->key <= r->key)
        queue = &(*queue)->next;
    r->next = *queue;
    *queue = r;
}

void
glow_run_unqueue(glow_request *r)
{
    glow_request **at = &r->host->queue;

    while (*at && *at != r)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = r->next;
    r->next = NULL;
    r->host->queued--;
}

void
glow_run_next(glow_host *h, todo *t)
{
    glow_request *r = h->queue, *next;

    for (; r; r = next) {
        next = r->next;
        if (r->service->running >= r->service->most)
            continue;
        glow_run_unqueue(r);
        r->service->running++;
        glow_run_admit(r, t);
        next = h->queue; /* anything may have happened */
    }
    for (service *s = h->services; s; s = s->next)
        if (s->batch > 1)
            glow_run_batch(s, glow_now(), t);
}

/* The lock. */

void
glow_run_lock(glow_host *h, todo *t)
{
    *t = (todo){0};
    t->last_start = &t->start;
    t->last_end = &t->end;
    t->last_batch = &t->batch;
    pthread_mutex_lock(&h->lock);
}

/* Tells the caller, and drops the runtime's own reference. */
static void
tell(glow_request *r)
{
    if (r->slices)
        glow_run_scatter(r);
    if (r->end.outcome == GLOW_RUN_DONE)
        glow_timeline_reach(r->timeline, 1);
    else
        glow_timeline_fail(r->timeline, r->end.outcome, r->end.text);
    if (r->then)
        r->then(r->user, r);
    glow_run_request_drop(r);
}

void
glow_run_unlock(glow_host *h, todo *t)
{
    pthread_mutex_unlock(&h->lock);
    for (execution *x = t->start, *next; x; x = next) {
        next = x->next;
        x->next = NULL;
        glow_run_start(x);
    }
    /* Copies and callbacks take time, for which no command is to wait. */
    if ((t->batch || t->end) && h->options.executor->kind->share)
        h->options.executor->kind->share();
    for (glow_request *r = t->batch, *next; r; r = next) {
        next = r->next;
        r->next = NULL;
        glow_run_fill(r);
    }
    for (glow_request *r = t->end, *next; r; r = next) {
        next = r->next;
        r->next = NULL;
        tell(r);
    }
}

/* The interface. */

static int
find_input(const service *s, const char *name)
{
    for (int v = 0; v < s->n_values; v++)
        if (s->values[v].in && !s->values[v].kept &&
            strcmp(s->values[v].name, name) == 0)
            return v;
    return -1;
}

/* Samples that so many bytes are, or 0: none that the service takes. */
static int
samples_of(const service *s, int v, size_t bytes)
{
    size_t one = (size_t)s->values[v].bytes / (size_t)s->batch;

    if (s->batch == 1)
        return bytes == one;
    return one && bytes % one == 0 && bytes / one <= MOST_SAMPLES
               ? (int)(bytes / one)
               : 0;
}

/* False, with the reason in r->end.text, if the inputs are wrong. */
static bool
take_inputs(glow_request *r, const glow_input *in, int n)
{
    service *s = r->service;
    char *text = r->end.text;
    size_t room = sizeof r->end.text;

    for (int i = 0; i < n; i++) {
        int v = find_input(s, in[i].name), samples;

        if (v < 0)
            return snprintf(text, room, "%s has no input %s", s->name,
                            in[i].name) < 0;
        samples = samples_of(s, v, in[i].bytes);
        if (samples == 0)
            return snprintf(text, room,
                            "input %s has %zu bytes, and %s takes "
                            "%" PRId64 "%s",
                            in[i].name, in[i].bytes, s->name,
                            s->values[v].bytes / s->batch,
                            s->batch > 1 ? " for each sample" : "") < 0;
        if (r->data[v])
            return snprintf(text, room, "input %s comes twice", in[i].name) < 0;
        if (i > 0 && samples != r->samples)
            return snprintf(text, room,
                            "input %s has %d samples, and others "
                            "have %d",
                            in[i].name, samples, r->samples) < 0;
        r->samples = samples;
        r->data[v] = in[i].data;
    }
    for (int v = 0; v < s->n_values; v++)
        if (s->values[v].in && !s->values[v].kept && !r->data[v])
            return snprintf(text, room, "input %s is missing",
                            s->values[v].name) < 0;
    return true;
}

/* Gives back the inputs of a request that was not taken; unlocked. */
static void
return_inputs(const glow_input *in, int n)
{
    for (int i = 0; i < n; i++)
        if (in[i].release)
            in[i].release(in[i].user);
}

const void *
glow_run_copy_input(glow_request *r, const void *data, size_t bytes)
{
    void *p = glow_heap_lines(bytes);

    r->inputs[r->n_inputs++] = (glow_input){.release = free, .user = p};
    return memcpy(p ? p : glow_no_memory(bytes), data, bytes);
}

/* Copies inputs that the caller keeps; unlocked. */
static void
own_inputs(glow_request *r, const glow_input *in, int n)
{
    for (int i = 0; i < n; i++) {
        int v = find_input(r->service, in[i].name);

        if (in[i].release)
            r->inputs[r->n_inputs++] = in[i];
        else if (r->service->values[v]
                     .out) /* its block is that of the output */
            r->data[v] = glow_run_copy_input(r, in[i].data, in[i].bytes);
        else
            r->data[v] = memcpy(glow_run_block(r, v), in[i].data, in[i].bytes);
    }
}

void
glow_run_end(glow_request *r)
{
    service *s = r->service;

    r->ended = true;
    if (--s->requests == 0 && s->leaving)
        pthread_cond_broadcast(&r->host->changed);
}

static void
refuse(glow_request *r, const char *text)
{
    r->end.outcome = GLOW_RUN_REFUSED;
    snprintf(r->end.text, sizeof r->end.text, "%s", text);
}

void
glow_run_live(glow_request *r)
{
    glow_host *h = r->host;

    r->live = h->live;
    r->live_link = &h->live;
    if (h->live)
        h->live->live_link = &r->live;
    h->live = r;
}

void
glow_run_enqueue(glow_request *r, todo *t)
{
    service *s = r->service;

    if (s->running < s->most) {
        s->running++;
        glow_run_admit(r, t);
        return;
    }
    glow_run_insert(&r->host->queue, r);
    r->host->queued++;
}

/* Puts it where it waits, or lets it run. */
static void
enter(glow_request *r, todo *t)
{
    glow_host *h = r->host;
    service *s = r->service;

    r->refs++;
    glow_run_live(r);
    if (s->batch > 1) {
        glow_run_join(r);
        glow_run_batch(s, glow_now(), t);
    } else if (r->kept) {
        glow_run_kept_enter(r, t);
    } else {
        glow_run_enqueue(r, t);
    }
    if (r->deadline)
        glow_run_watch_by(h, r->deadline);
}

/* True if it would have to wait. */
static bool
must_wait(const glow_request *r)
{
    const service *s = r->service;

    return s->batch > 1 || s->running >= s->most ||
           (r->kept && glow_run_kept_waits(r->kept));
}

/* False, with the reason in r->end.text, if the state object is wrong. */
static bool
check_kept(glow_request *r)
{
    const service *s = r->service;
    const char *why = NULL;

    if (s->kept && !r->kept)
        why = "has state, and the request names no state object";
    else if (r->kept && !glow_run_kept_is_of(r->kept, s))
        why = "takes no state object of another service";
    if (why)
        snprintf(r->end.text, sizeof r->end.text, "%s %s", s->name, why);
    return !why;
}

/* Sets r->end to GLOW_RUN_DONE if the request can be taken, else to the reason. */
static void
check(glow_request *r, const glow_input *in, int n)
{
    glow_host *h = r->host;
    const char *kept;

    if (h->closing)
        refuse(r, "the host is closing");
    else if (r->service->leaving)
        refuse(r, "the service was removed");
    else if (h->queued >= h->options.queue && must_wait(r))
        refuse(r, "as many requests wait as may");
    else if (r->deadline && r->deadline <= r->arrived)
        refuse(r, "the deadline has passed");
    else if (!check_kept(r))
        r->end.outcome = GLOW_RUN_INVALID;
    else if (r->kept && (kept = glow_run_kept_refuses(r->kept)) != NULL)
        refuse(r, kept);
    else
        r->end.outcome =
            take_inputs(r, in, n) ? GLOW_RUN_DONE : GLOW_RUN_INVALID;
}

glow_request *
glow_service_run(glow_service *s, const glow_input *in, int n_in,
                 const glow_request_options *o)
{
    glow_host *h = s->host;
    glow_request *r;
    todo t;

    glow_run_lock(h, &t);
    r = glow_run_request_new(s, &s->variants[s->n_variants - 1], o);
    check(r, in, n_in);
    if (r->end.outcome == GLOW_RUN_DONE)
        glow_run_take_blocks(r, r->samples);
    pthread_mutex_unlock(&h->lock);
    if (r->end.outcome == GLOW_RUN_DONE)
        own_inputs(r, in, n_in);
    else
        return_inputs(in, n_in);
    glow_run_lock(h, &t);
    if (r->end.outcome != GLOW_RUN_DONE) {
        glow_run_end(r);
        s->ended[r->end.outcome]++;
        r->refs++;
        *t.last_end = r;
        t.last_end = &r->next;
    } else {
        enter(r, &t);
    }
    glow_run_unlock(h, &t);
    return r;
}

glow_fence
glow_request_fence(const glow_request *r)
{
    return (glow_fence){r->timeline, 1};
}

const void *
glow_request_output(const glow_request *r, const char *name, size_t *bytes)
{
    const service *s = r->service;

    if (glow_timeline_value(r->timeline) < 1)
        return NULL;
    for (int v = 0; v < s->n_values; v++)
        if (s->values[v].out && !s->values[v].kept &&
            strcmp(s->values[v].name, name) == 0) {
            int64_t one = s->values[v].bytes / s->batch;

            *bytes = (size_t)(one * r->samples);
            return r->blocks[v];
        }
    return NULL;
}

void
glow_request_cancel(glow_request *r)
{
    todo t;

    glow_run_lock(r->host, &t);
    glow_run_finish(r, GLOW_RUN_CANCELLED, "it was cancelled", &t);
    glow_run_unlock(r->host, &t);
}

void
glow_request_release(glow_request *r)
{
    glow_run_request_drop(r);
}

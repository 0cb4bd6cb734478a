/*
 * State objects: the tensors of State and Trained placeholders for one stream of
 * requests, which hold the object one after the other in the order of their calls.
 */

#include <stdlib.h>
#include <string.h>

#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/state.h"

struct glow_service_state {
    service *service;
    glow_context *ctx;   /* its reports go to the caller's of the moment */
    glow_state *tensors; /* in memory of glow_heap_lines */
    int refs;            /* of the caller, and of requests */
    bool lacks;          /* trained tensors */
    bool broken;         /* a run that was not done may have written some of it */
    bool busy;           /* a call reads or writes the tensors */
    glow_request *holder;
    glow_request *first; /* of those that wait */
};

/* Objects. */

/* An object with the contents of `from`; called without the lock. */
static glow_service_state *
make(service *s, const glow_state *from)
{
    glow_service_state *st = glow_heap_new(sizeof *st);
    glow_state_entry *e;
    size_t n;

    st->service = s;
    st->refs = 1;
    st->ctx = glow_context_new();
    st->tensors = glow_state_clone(st->ctx, from);
    e = glow_state_entries(st->tensors, &n);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = (size_t)glow_type_bytes(e[i].tensor.type);
        void *p = glow_heap_lines(bytes);

        memcpy(p ? p : glow_no_memory(bytes), e[i].tensor.data, bytes);
        glow_tensor_end(&e[i].tensor);
        e[i].tensor.data = p;
        st->lacks = st->lacks || (e[i].is_trained && !e[i].is_set);
    }
    pthread_mutex_lock(&s->host->lock);
    s->refs++;
    pthread_mutex_unlock(&s->host->lock);
    return st;
}

bool
glow_service_keeps(const glow_service *s)
{
    return s->kept != NULL;
}

glow_service_state *
glow_service_state_new(glow_service *s)
{
    return s->kept ? make(s, s->kept) : NULL;
}

void
glow_service_state_release(glow_service_state *st)
{
    service *s = st->service;
    glow_state_entry *e;
    size_t n;
    bool last;

    pthread_mutex_lock(&s->host->lock);
    last = --st->refs == 0;
    pthread_mutex_unlock(&s->host->lock);
    if (!last)
        return;
    e = glow_state_entries(st->tensors, &n);
    for (size_t i = 0; i < n; i++)
        free(e[i].tensor.data);
    glow_state_free(st->tensors);
    glow_context_free(st->ctx);
    free(st);
    glow_run_service_drop(s);
}

/* The order of requests. */

static void
let_next(glow_service_state *st, todo *t)
{
    glow_host *h = st->service->host;

    while (st->first && !st->busy && (!st->holder || st->broken)) {
        glow_request *r = st->first;

        st->first = r->next;
        r->next = NULL;
        h->queued--;
        r->state = WAITS;
        if (st->broken) {
            glow_run_finish(r, GLOW_RUN_REFUSED, glow_run_kept_refuses(st), t);
            continue;
        }
        st->holder = r;
        glow_run_enqueue(r, t);
    }
    pthread_cond_broadcast(&h->changed);
}

const char *
glow_run_kept_refuses(const glow_service_state *st)
{
    if (st->broken)
        return "its state object is broken: a run on it was not done";
    return st->lacks ? "its state object lacks trained tensors" : NULL;
}

bool
glow_run_kept_is_of(const glow_service_state *st, const service *s)
{
    return st->service == s;
}

void
glow_run_kept_ref(glow_service_state *st)
{
    st->refs++;
}

bool
glow_run_kept_waits(const glow_service_state *st)
{
    return st->holder || st->busy || st->first;
}

void
glow_run_kept_enter(glow_request *r, todo *t)
{
    glow_service_state *st = r->kept;
    glow_request **last = &st->first;

    while (*last)
        last = &(*last)->next;
    *last = r;
    r->state = HELD;
    r->host->queued++;
    let_next(st, t);
}

void
glow_run_kept_unqueue(glow_request *r)
{
    glow_request **at = &r->kept->first;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->next = NULL;
    r->host->queued--;
}

void
glow_run_kept_bind(glow_request *r)
{
    const service *s = r->service;

    for (int v = 0; v < s->n_values; v++)
        if (s->values[v].kept && s->values[v].in)
            r->data[v] =
                glow_state_find(r->kept->tensors, s->values[v].name)->tensor.data;
}

void
glow_run_kept_commit(glow_request *r)
{
    const service *s = r->service;

    for (int v = 0; v < s->n_values; v++) {
        glow_tensor *old;
        void *new = r->blocks[v];

        if (!s->values[v].kept || !s->values[v].out ||
            (s->values[v].in && r->in_place))
            continue;
        old = &glow_state_find(r->kept->tensors, s->values[v].name)->tensor;
        r->blocks[v] = old->data;
        old->data = new;
    }
}

void
glow_run_kept_leave(glow_request *r, bool whole, todo *t)
{
    glow_service_state *st = r->kept;

    if (!whole)
        st->broken = true;
    if (st->holder == r && !r->executions)
        st->holder = NULL;
    let_next(st, t);
}

/* Calls that read or write the tensors, after the requests before them. */

/* False after a report, if no call can have the object. */
static bool
take(glow_service_state *st, glow_context *ctx, bool may_be_broken)
{
    glow_host *h = st->service->host;
    bool ok, runs;

    pthread_mutex_lock(&h->lock);
    while (st->busy || (!st->broken && (st->holder || st->first)))
        pthread_cond_wait(&h->changed, &h->lock);
    runs = st->holder != NULL;
    ok = !st->broken || (may_be_broken && !runs);
    st->busy = ok;
    pthread_mutex_unlock(&h->lock);
    if (ok)
        return true;
    return glow_error(ctx, "E1011",
                      "service %s: the state object is broken: a run on it was "
                      "not done%s",
                      st->service->name, runs ? ", and may go on" : "");
}

static void
give_back(glow_service_state *st, bool mended)
{
    size_t n;
    const glow_state_entry *e = glow_state_entries(st->tensors, &n);
    todo t;

    glow_run_lock(st->service->host, &t);
    st->busy = false;
    st->broken = st->broken && !mended;
    st->lacks = false;
    for (size_t i = 0; i < n; i++)
        st->lacks = st->lacks || (e[i].is_trained && !e[i].is_set);
    let_next(st, &t);
    glow_run_unlock(st->service->host, &t);
}

static void
pass_report(const glow_diag *d, void *user)
{
    glow_report(user, d);
}

glow_service_state *
glow_service_state_clone(glow_service_state *st, glow_context *ctx)
{
    glow_service_state *copy;

    if (!take(st, ctx, false))
        return NULL;
    copy = make(st->service, st->tensors);
    give_back(st, false);
    return copy;
}

/* From `bytes`, or NULL: from the file `name`. */
static bool
load(glow_service_state *st, glow_context *ctx, const char *name, const void *bytes,
     size_t size)
{
    glow_state_entry *e;
    size_t n;
    bool ok;

    if (!take(st, ctx, true))
        return false;
    e = glow_state_entries(st->tensors, &n);
    for (size_t i = 0; st->broken && i < n; i++) {
        memset(e[i].tensor.data, 0, (size_t)glow_type_bytes(e[i].tensor.type));
        e[i].is_set = false;
    }
    glow_context_set_sink(st->ctx, pass_report, ctx);
    ok = (bytes ? glow_state_read(st->tensors, name, bytes, size)
                : glow_state_load(st->tensors, name)) &&
         glow_state_check(st->tensors, name);
    glow_context_set_sink(st->ctx, NULL, NULL);
    give_back(st, ok);
    return ok;
}

bool
glow_service_state_load(glow_service_state *st, glow_context *ctx, const char *path)
{
    return load(st, ctx, path, NULL, 0);
}

bool
glow_service_state_read(glow_service_state *st, glow_context *ctx, const char *name,
                        const void *bytes, size_t size)
{
    return load(st, ctx, name, bytes ? bytes : "", size);
}

bool
glow_service_state_save(glow_service_state *st, glow_context *ctx, const char *path)
{
    bool ok;

    if (!take(st, ctx, false))
        return false;
    glow_context_set_sink(st->ctx, pass_report, ctx);
    ok = glow_state_save(st->tensors, path);
    glow_context_set_sink(st->ctx, NULL, NULL);
    give_back(st, false);
    return ok;
}

bool
glow_service_state_write(glow_service_state *st, glow_context *ctx, glow_buf *b)
{
    if (!take(st, ctx, false))
        return false;
    glow_state_write(st->tensors, b);
    give_back(st, false);
    return true;
}

bool
glow_service_state_is_broken(glow_service_state *st)
{
    bool broken;

    pthread_mutex_lock(&st->service->host->lock);
    broken = st->broken;
    pthread_mutex_unlock(&st->service->host->lock);
    return broken;
}

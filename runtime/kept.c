/*
 * State objects: the tensors of State and Trained placeholders for one stream of
 * requests, which hold the object one after the other in the order of their calls.
 */

#include <stdlib.h>
#include <string.h>

#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/state.h"

/* A tensor in the memory of a device. */
typedef struct place {
    device *device; /* NULL: it has no buffer */
    glow_buffer buffer;
    int64_t
        lost;   /* how often the device was lost before it was written there */
    bool there; /* the buffer has the contents of the object */
    bool ahead; /* and the tensor in host memory has not */
} place;

struct glow_service_state {
    service *service;
    glow_context *ctx;   /* its reports go to the caller's of the moment */
    glow_state *tensors; /* in memory of glow_heap_lines */
    place *places;       /* of each tensor */
    int refs;            /* of the caller, and of requests */
    bool lacks;          /* trained tensors */
    bool broken; /* a run that was not done may have written some of it */
    bool busy;   /* a call reads or writes the tensors */
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
    st->places = glow_heap_new(n * sizeof *st->places);
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
    for (size_t i = 0; i < n; i++) {
        place *p = &st->places[i];

        if (p->device)
            p->device->api->free(p->device->at, &p->buffer);
        free(e[i].tensor.data);
    }
    free(st->places);
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

/* The place of kept value `v`. */
static place *
place_of(const glow_request *r, int v)
{
    size_t n;
    const glow_state_entry *first = glow_state_entries(r->kept->tensors, &n);

    return &r->kept->places[glow_state_find(r->kept->tensors,
                                            r->service->values[v].name) -
                            first];
}

/* Lets `r` read value `v` at its home, where it may have no buffer yet. */
static void
bind_home(glow_request *r, int v)
{
    const place *p = place_of(r, v);

    if (r->residents[v].device)
        return; /* it has one of a try before */
    r->residents[v] = (resident){
        .device = p->device,
        .buffer = p->buffer,
        .lost = p->lost,
        .of_state = p->device,
        .fill = !p->there,
    };
}

void
glow_run_kept_bind(glow_request *r)
{
    const service *s = r->service;

    for (int v = 0; v < s->n_values; v++) {
        if (!s->values[v].kept || !s->values[v].in)
            continue;
        r->data[v] =
            glow_state_find(r->kept->tensors, s->values[v].name)->tensor.data;
        if (s->values[v].home)
            bind_home(r, v);
    }
}

/* Gives the object value `v` at its home; a buffer that it has no more is freed with `r`. */
static void
commit_home(glow_request *r, int v)
{
    const value *x = &r->service->values[v];
    resident *m = &r->residents[v];
    place *p = place_of(r, v);

    if (!m->of_state) {
        const place old = *p;

        *p = (place){.device = m->device, .buffer = m->buffer};
        m->device = old.device;
        m->buffer = old.buffer;
    }
    p->lost = m->lost;
    p->there = true;
    p->ahead = p->ahead || x->out;
}

void
glow_run_kept_commit(glow_request *r)
{
    const service *s = r->service;

    /* A result takes the place of the value that was read. */
    for (int in = 1; in >= 0; in--)
        for (int v = 0; v < s->n_values; v++)
            if (s->values[v].home && s->values[v].in == in)
                commit_home(r, v);
    for (int v = 0; v < s->n_values; v++) {
        glow_tensor *old;
        void *new;

        if (!s->values[v].kept || s->values[v].home || !s->values[v].out ||
            (s->values[v].in && r->in_place))
            continue;
        new = r->blocks[v];
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
give_back(glow_service_state *st, bool mended, bool breaks)
{
    size_t n;
    const glow_state_entry *e = glow_state_entries(st->tensors, &n);
    todo t;

    glow_run_lock(st->service->host, &t);
    st->busy = false;
    st->broken = breaks || (st->broken && !mended);
    st->lacks = false;
    for (size_t i = 0; i < n; i++)
        st->lacks = st->lacks || (e[i].is_trained && !e[i].is_set);
    let_next(st, &t);
    glow_run_unlock(st->service->host, &t);
}

static bool
is_broken(glow_service_state *st)
{
    bool broken;

    pthread_mutex_lock(&st->service->host->lock);
    broken = st->broken;
    pthread_mutex_unlock(&st->service->host->lock);
    return broken;
}

/* Copies one tensor from its device; false: that was lost. */
static bool
fetch_one(glow_service_state *st, const glow_state_entry *e, place *p)
{
    pthread_mutex_t *lock = &st->service->host->lock;
    glow_timeline *t = glow_timeline_new();
    const glow_buffer here = {.host = e->tensor.data, .bytes = p->buffer.bytes};
    bool ok;

    p->device->api->copy(p->device->at, &here, &p->buffer,
                         &(glow_command){.signal = {t, 1}});
    ok = glow_fence_wait((glow_fence){t, 1}, INT64_MAX, NULL) == GLOW_RUN_DONE;
    glow_timeline_unref(t);
    pthread_mutex_lock(lock);
    ok = ok && p->lost == p->device->lost;
    pthread_mutex_unlock(lock);
    return ok;
}

/* Makes the tensors those of the object; false: it is broken, since a device was lost. */
static bool
fetch(glow_service_state *st)
{
    size_t n;
    const glow_state_entry *e = glow_state_entries(st->tensors, &n);
    bool ok = true;

    for (size_t i = 0; i < n && ok; i++)
        if (st->places[i].ahead) {
            ok = fetch_one(st, &e[i], &st->places[i]);
            st->places[i].ahead = !ok;
        }
    return ok;
}

/* The same, after take; if not, gives the object back, with a report. */
static bool
fetch_or_break(glow_service_state *st, glow_context *ctx)
{
    if (fetch(st))
        return true;
    give_back(st, false, true);
    return glow_error(
        ctx, "E1011",
        "service %s: the state object is broken: the device that had it "
        "in its memory was lost",
        st->service->name);
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

    if (!take(st, ctx, false) || !fetch_or_break(st, ctx))
        return NULL;
    copy = make(st->service, st->tensors);
    give_back(st, false, false);
    return copy;
}

/* From `bytes`, or NULL: from the file `name`. */
static bool
load(glow_service_state *st, glow_context *ctx, const char *name,
     const void *bytes, size_t size)
{
    glow_state_entry *e;
    size_t n;
    bool ok, anew;

    if (!take(st, ctx, true))
        return false;
    anew = is_broken(st) || !fetch(st);
    e = glow_state_entries(st->tensors, &n);
    for (size_t i = 0; i < n; i++)
        st->places[i].there = st->places[i].ahead = false;
    for (size_t i = 0; anew && i < n; i++) {
        memset(e[i].tensor.data, 0, (size_t)glow_type_bytes(e[i].tensor.type));
        e[i].is_set = false;
    }
    glow_context_set_sink(st->ctx, pass_report, ctx);
    ok = (bytes ? glow_state_read(st->tensors, name, bytes, size)
                : glow_state_load(st->tensors, name)) &&
         glow_state_check(st->tensors, name);
    glow_context_set_sink(st->ctx, NULL, NULL);
    give_back(st, ok, anew && !ok);
    return ok;
}

bool
glow_service_state_load(glow_service_state *st, glow_context *ctx,
                        const char *path)
{
    return load(st, ctx, path, NULL, 0);
}

bool
glow_service_state_read(glow_service_state *st, glow_context *ctx,
                        const char *name, const void *bytes, size_t size)
{
    return load(st, ctx, name, bytes ? bytes : "", size);
}

bool
glow_service_state_save(glow_service_state *st, glow_context *ctx,
                        const char *path)
{
    bool ok;

    if (!take(st, ctx, false) || !fetch_or_break(st, ctx))
        return false;
    glow_context_set_sink(st->ctx, pass_report, ctx);
    ok = glow_state_save(st->tensors, path);
    glow_context_set_sink(st->ctx, NULL, NULL);
    give_back(st, false, false);
    return ok;
}

bool
glow_service_state_write(glow_service_state *st, glow_context *ctx, glow_buf *b)
{
    if (!take(st, ctx, false) || !fetch_or_break(st, ctx))
        return false;
    glow_state_write(st->tensors, b);
    give_back(st, false, false);
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

bool
glow_service_state_lacks_tensors(glow_service_state *st)
{
    bool lacks;

    pthread_mutex_lock(&st->service->host->lock);
    lacks = st->lacks;
    pthread_mutex_unlock(&st->service->host->lock);
    return lacks;
}

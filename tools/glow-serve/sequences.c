/*
 * Sequences: state objects of models that keep state, one for each stream of requests,
 * by their names.  A tree finds them, and a list in the order of their last use those
 * that have been idle for too long.
 *
 * A request is a step of its sequence.  Steps run in the order of their numbers; if one
 * is not done and later ones were taken already, the sequence has failed, since these
 * run on a state that lacks it.
 */

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-serve/serve.h"

struct sequence {
    const model *model;
    char name[SERVE_SEQUENCE_NAME];
    glow_service *service;
    glow_service_state *state;
    /* Under the lock of all sequences: */
    int refs;   /* of the tree, and of those who use it */
    bool found; /* by the tree */
    int64_t used;
    sequence *before, *behind; /* used later, and earlier */
    /* Under its own lock, which a request holds while it is given to the host: */
    pthread_mutex_t lock;
    int64_t steps; /* that were taken */
    step *open;    /* of these, those that were not answered */
    int64_t lacks; /* the first step that was not done, once it has failed */
    bool failed, ending;
};

/* The tree and the list; with the lock of all. */

static int
compare(const void *a, const void *b)
{
    const sequence *x = a, *y = b;

    if (x->model != y->model)
        return (uintptr_t)x->model < (uintptr_t)y->model ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void
unlink_sequence(sequences *all, sequence *q)
{
    *(q->before ? &q->before->behind : &all->first) = q->behind;
    *(q->behind ? &q->behind->before : &all->last) = q->before;
    q->before = q->behind = NULL;
}

static void
link_first(sequences *all, sequence *q)
{
    q->behind = all->first;
    *(all->first ? &all->first->before : &all->last) = q;
    all->first = q;
}

static void
drop_ref(sequence *q)
{
    if (--q->refs > 0)
        return;
    glow_service_state_release(q->state);
    glow_service_release(q->service);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

static void
forget(sequences *all, sequence *q)
{
    if (!q->found)
        return;
    q->found = false;
    tdelete(q, &all->tree, compare);
    unlink_sequence(all, q);
    all->live--;
    drop_ref(q);
}

static sequence *
find(const sequences *all, const model *m, const char *name)
{
    sequence key = {.model = m}, **at;

    snprintf(key.name, sizeof key.name, "%s", name);
    at = tfind(&key, &all->tree, compare);
    return at ? *at : NULL;
}

/* Ends sequences that nothing has used for the time of -sequence-idle-ms. */
static void
end_idle(server *s)
{
    sequences *all = &s->sequences;
    int64_t since = glow_now() - s->values.sequence_idle_ms * 1000000;

    for (sequence *q = all->last, *before; q && q->used < since; q = before) {
        before = q->before;
        if (q->refs > 1)
            continue;
        all->idle++;
        forget(all, q);
    }
}

void
serve_sequences_end_idle(server *s)
{
    pthread_mutex_lock(&s->sequences.lock);
    end_idle(s);
    pthread_mutex_unlock(&s->sequences.lock);
}

void
serve_sequences_end(server *s, const model *m)
{
    sequences *all = &s->sequences;

    pthread_mutex_lock(&all->lock);
    for (sequence *q = all->first, *behind; q; q = behind) {
        behind = q->behind;
        if (!m || q->model == m)
            forget(all, q);
    }
    pthread_mutex_unlock(&all->lock);
}

/* Use of a sequence, without the lock of all. */

static void
leave(server *s, sequence *q, bool ends)
{
    sequences *all = &s->sequences;

    pthread_mutex_lock(&all->lock);
    if (ends)
        forget(all, q);
    q->used = glow_now();
    if (q->found) {
        unlink_sequence(all, q);
        link_first(all, q);
    }
    drop_ref(q);
    pthread_mutex_unlock(&all->lock);
}

static answer
unknown(const model *m, const char *name)
{
    return serve_error(404,
                       "E1020: %s has no sequence %s: it was not started, has "
                       "ended, or was idle for too long",
                       m->name, name);
}

static answer
has_failed(const sequence *q)
{
    return serve_error(
        409,
        "E1022: sequence %s of %s has failed: request %" PRId64
        " of it was not done; start it again, or restore its state",
        q->name, q->model->name, q->lacks + 1);
}

/* The live sequence of that name on `service`, of the caller until `leave`; or NULL. */
static sequence *
enter(server *s, const model *m, const glow_service *service, const char *name)
{
    sequences *all = &s->sequences;
    sequence *q;

    pthread_mutex_lock(&all->lock);
    end_idle(s);
    q = find(all, m, name);
    if (q && service && q->service != service) { /* loaded again since */
        forget(all, q);
        q = NULL;
    }
    if (q)
        q->refs++;
    pthread_mutex_unlock(&all->lock);
    return q;
}

/* A sequence that nothing finds yet; holds the service. */
static sequence *
new_sequence(server *s, const model *m, const char *name)
{
    sequence *q = calloc(1, sizeof *q);

    if (!q)
        return NULL;
    q->model = m;
    snprintf(q->name, sizeof q->name, "%s", name);
    q->service = glow_host_find(s->host, m->service);
    q->state = q->service ? glow_service_state_new(q->service) : NULL;
    q->refs = 1;
    pthread_mutex_init(&q->lock, NULL);
    if (q->state)
        return q;
    if (q->service)
        glow_service_release(q->service);
    pthread_mutex_destroy(&q->lock);
    free(q);
    return NULL;
}

/* Puts it in the place of the one of its name; the answer if there are too many. */
static answer
add(server *s, sequence *q)
{
    sequences *all = &s->sequences;
    sequence *old;
    answer a = {0};

    pthread_mutex_lock(&all->lock);
    end_idle(s);
    old = find(all, q->model, q->name);
    if (!old && all->live >= s->values.sequences) {
        all->refused++;
        a = serve_error(503,
                        "E1021: %" PRId64 " sequences are live, as many as may",
                        s->values.sequences);
    } else {
        if (old)
            forget(all, old);
        if (!tsearch(q, &all->tree, compare)) {
            a = serve_error(503, "there is no memory for the sequence");
        } else {
            q->found = true;
            q->refs++;
            q->used = glow_now();
            link_first(all, q);
            all->live++;
            all->started++;
        }
    }
    pthread_mutex_unlock(&all->lock);
    return a;
}

/* Steps. */

/* Gives the request to the host; with the lock of `q`. */
static answer
take_step(sequence *q, step *x, const glow_input *in, int n,
          glow_request_options *o, glow_request **out)
{
    if (q->failed)
        return has_failed(q);
    if (q->ending)
        return unknown(q->model, q->name);
    x->sequence = q;
    x->number = q->steps++;
    x->next = q->open;
    q->open = x;
    q->ending = x->ends;
    o->state = q->state;
    x->request = *out = glow_service_run(q->service, in, n, o);
    return (answer){0};
}

static void
fail(sequence *q, const step *x)
{
    if (!q->failed || x->number < q->lacks)
        q->lacks = x->number;
    q->failed = true;
}

/* Finds steps before `x`, all of which have ended, that were not done. */
static void
check_earlier(sequence *q, const step *x)
{
    for (const step *e = q->open; e; e = e->next)
        if (e->number < x->number &&
            glow_fence_wait(glow_request_fence(e->request), INT64_MAX, NULL) !=
                GLOW_RUN_DONE)
            fail(q, e);
}

/* The answer if a new sequence cannot start, since only a file has its first contents. */
static answer
check_start(const sequence *q)
{
    if (!glow_service_state_lacks_tensors(q->state))
        return (answer){0};
    return serve_error(
        409,
        "E1030: sequence %s of %s cannot start with zeros: the model has "
        "trained tensors; PUT them to /v2/models/%s/sequences/%s/state, and "
        "send requests without sequence_start",
        q->name, q->model->name, q->model->name, q->name);
}

answer
serve_step_begin(server *s, const model *m, const glow_service *service,
                 step *x, const glow_input *in, int n, glow_request_options *o,
                 glow_request **out)
{
    sequence *q;
    answer a = {0};

    if (!x->name[0])
        return serve_error(
            400, "%s keeps state, and the request names no sequence_id",
            m->name);
    q = x->starts ? new_sequence(s, m, x->name) : enter(s, m, service, x->name);
    if (!q)
        return x->starts ? serve_error(503, "%s is not loaded", m->name)
                         : unknown(m, x->name);
    pthread_mutex_lock(&q->lock);
    if (x->starts)
        a = check_start(q);
    if (x->starts && !a.status)
        a = add(s, q);
    if (!a.status)
        a = take_step(q, x, in, n, o, out);
    pthread_mutex_unlock(&q->lock);
    if (!x->sequence)
        leave(s, q, false);
    return a;
}

answer
serve_step_end(server *s, step *x)
{
    sequence *q = x->sequence;
    bool done, broken, lacks;
    step **at = &q->open;
    answer a = {0};

    done = glow_fence_wait(glow_request_fence(x->request), INT64_MAX, NULL) ==
           GLOW_RUN_DONE;
    pthread_mutex_lock(&q->lock);
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    broken = glow_service_state_is_broken(q->state);
    if (done || broken)
        check_earlier(q, x);
    if (!done && (broken || x->starts || x->number + 1 < q->steps))
        fail(q, x);
    if (!done && x->ends)
        q->ending = false;
    lacks = q->failed && x->number > q->lacks;
    if (lacks)
        a = has_failed(q);
    x->ends = done ? x->ends && !lacks : x->starts && q->steps == 1;
    pthread_mutex_unlock(&q->lock);
    x->sequence = NULL;
    leave(s, q, x->ends);
    return a;
}

/* State over HTTP. */

/* Keeps the first error. */
static void
keep_first(const glow_diag *d, void *user)
{
    answer *a = user;

    if (d->severity == GLOW_ERROR && !a->status)
        *a = serve_error(400, "%s: %s", d->id, d->message);
}

/* A context whose first error becomes *a. */
static glow_context *
new_context(answer *a)
{
    glow_context *ctx = glow_context_new();

    glow_context_set_sink(ctx, keep_first, a);
    return ctx;
}

static answer
get_state(server *s, const model *m, const char *name)
{
    sequence *q = enter(s, m, NULL, name);
    glow_buf b = {0};
    glow_context *ctx;
    answer a = {0};

    if (!q)
        return unknown(m, name);
    ctx = new_context(&a);
    pthread_mutex_lock(&q->lock);
    if (q->failed)
        a = has_failed(q);
    else if (q->open)
        a = serve_error(409,
                        "E1023: sequence %s of %s has requests that were not "
                        "answered",
                        name, m->name);
    else
        glow_service_state_write(q->state, ctx, &b);
    pthread_mutex_unlock(&q->lock);
    glow_context_free(ctx);
    leave(s, q, false);
    if (a.status)
        return a;
    return (answer){.status = 200,
                    .text = b.text,
                    .size = b.len,
                    .type = "application/octet-stream"};
}

static answer
put_state(server *s, const model *m, const char *name, const char *body,
          size_t size)
{
    sequence *q = new_sequence(s, m, name);
    glow_context *ctx;
    answer a = {0};

    if (!q)
        return serve_error(400, "%s keeps no state, or is not loaded", m->name);
    ctx = new_context(&a);
    if (glow_service_state_read(q->state, ctx, "the body", body, size))
        a = add(s, q);
    glow_context_free(ctx);
    leave(s, q, false);
    return a.status ? a : serve_json(200, json_object());
}

answer
serve_sequence_answer(server *s, const char *method, const model *m,
                      const char *name, bool state, const char *body,
                      size_t size)
{
    sequence *q;

    if (state && strcmp(method, "GET") == 0)
        return get_state(s, m, name);
    if (state && strcmp(method, "PUT") == 0)
        return put_state(s, m, name, body, size);
    if (state || strcmp(method, "DELETE") != 0)
        return serve_error(405, state ? "state takes GET and PUT"
                                      : "a sequence takes DELETE");
    q = enter(s, m, NULL, name);
    if (!q)
        return unknown(m, name);
    leave(s, q, true);
    return serve_json(200, json_object());
}

/* Metrics. */

void
serve_sequences_metrics(server *s, glow_buf *b)
{
    const sequences *all = &s->sequences;

    pthread_mutex_lock(&s->sequences.lock);
    end_idle(s);
    glow_buf_printf(
        b,
        "# HELP glow_sequences Live sequences.\n"
        "# TYPE glow_sequences gauge\n"
        "glow_sequences %" PRId64 "\n"
        "# HELP glow_sequences_started_total Sequences that were started "
        "or restored.\n"
        "# TYPE glow_sequences_started_total counter\n"
        "glow_sequences_started_total %" PRId64 "\n"
        "# HELP glow_sequences_refused_total Starts refused by the limit.\n"
        "# TYPE glow_sequences_refused_total counter\n"
        "glow_sequences_refused_total %" PRId64 "\n"
        "# HELP glow_sequences_idle_total Sequences that ended idle.\n"
        "# TYPE glow_sequences_idle_total counter\n"
        "glow_sequences_idle_total %" PRId64 "\n",
        all->live, all->started, all->refused, all->idle);
    pthread_mutex_unlock(&s->sequences.lock);
}

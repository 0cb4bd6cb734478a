/*
 * Batches: requests of few samples run together, as one request whose members they
 * are.  If it fails, each of them is tried alone, so that one cannot spoil another.
 */

#include <stdlib.h>
#include <string.h>

#include "runtime/heap.h"
#include "runtime/state.h"

/*
 * Takes members in their order out of the queue of `s`, as long as their samples
 * fit; one that failed in a batch before goes alone.
 */
static void
gather(service *s, glow_request *b)
{
    glow_request **last = &b->members, **at = &s->members;
    const glow_request *first = s->members;

    b->samples = 0;
    while (*at) {
        glow_request *r = *at;

        if (b->samples + r->samples > s->batch ||
            (r != first && (r->alone || first->alone))) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = NULL;
        s->host->queued--;
        s->samples -= r->samples;
        b->samples += r->samples;
        r->refs++;
        r->state = MEMBER;
        *last = r;
        last = &r->next_member;
    }
}

static void
make(service *s, todo *t)
{
    glow_request *b = glow_run_request_new(s, NULL);

    s->running++;
    s->batches++;
    glow_run_take_blocks(b, s->batch);
    b->key = s->members->key;
    b->state = RUNS;
    glow_run_live(b);
    gather(s, b);
    *t->last_batch = b;
    t->last_batch = &b->next;
}

int64_t
glow_run_batch(service *s, int64_t now, todo *t)
{
    while (s->members && s->running < s->most) {
        int64_t due = INT64_MAX;

        for (const glow_request *m = s->members; m; m = m->next) {
            int64_t at = m->alone ? 0 : m->arrived + s->batch_ns;

            due = at < due ? at : due;
        }
        if (s->samples < s->batch && due > now) {
            glow_run_watch_by(s->host, due);
            return due;
        }
        make(s, t);
    }
    return INT64_MAX;
}

void
glow_run_fill(glow_request *b)
{
    const service *s = b->service;
    todo t;

    for (int v = 0; v < s->n_values; v++) {
        size_t one = (size_t)(s->values[v].bytes / s->batch), at = 0;
        char *block;

        if (!s->values[v].in)
            continue;
        block = glow_run_block(b, v);
        for (const glow_request *m = b->members; m; m = m->next_member) {
            memcpy(block + at, m->data[v], one * (size_t)m->samples);
            at += one * (size_t)m->samples;
        }
        memset(block + at, 0, (size_t)s->values[v].bytes - at);
        b->data[v] = s->values[v].out
                         ? glow_run_copy_input(b, block, (size_t)s->values[v].bytes)
                         : block;
    }
    glow_run_lock(b->host, &t);
    glow_run_admit(b, &t);
    glow_run_unlock(b->host, &t);
}

static void
copy_outputs(const glow_request *b)
{
    const service *s = b->service;

    for (int v = 0; v < s->n_values; v++) {
        size_t one = (size_t)(s->values[v].bytes / s->batch), at = 0;

        if (!s->values[v].out)
            continue;
        for (glow_request *m = b->members; m; m = m->next_member) {
            size_t bytes = one * (size_t)m->samples;

            memcpy(glow_run_block(m, v), (char *)b->blocks[v] + at, bytes);
            at += bytes;
        }
    }
}

/* Lets a member of a batch that failed wait again, to be tried alone. */
static void
try_alone(glow_request *m)
{
    m->alone = true;
    m->state = WAITS;
    m->host->queued++;
    m->service->samples += m->samples;
    glow_run_insert(&m->service->members, m);
}

void
glow_run_scatter(glow_request *b)
{
    glow_request **members;
    int n = 0;
    todo t;

    if (b->end.outcome == GLOW_RUN_DONE)
        copy_outputs(b);
    for (const glow_request *m = b->members; m; m = m->next_member)
        n++;
    members = glow_heap_new((size_t)n * sizeof *members);
    glow_run_lock(b->host, &t);
    for (int i = 0; i < n; i++) {
        glow_request *m = members[i] = b->members;

        b->members = m->next_member;
        m->next_member = NULL;
        if (!m->ended && n > 1 && b->end.outcome == GLOW_RUN_FAILED)
            try_alone(m);
        else
            glow_run_finish(m, b->end.outcome, b->end.text, &t);
    }
    glow_run_batch(b->service, glow_now(), &t);
    glow_run_unlock(b->host, &t);
    for (int i = 0; i < n; i++)
        glow_run_request_drop(members[i]);
    free(members);
}

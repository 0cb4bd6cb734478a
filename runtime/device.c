#include "runtime/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "glow/backend.h"
#include "glow/diag.h"
#include "runtime/heap.h"
#include "runtime/wire.h"

void
glow_run_base_begin(run_base *b, const glow_run_device_options *o)
{
    b->options = *o;
    pthread_mutex_init(&b->lock, NULL);
}

void
glow_run_base_end(run_base *b)
{
    pthread_mutex_destroy(&b->lock);
}

void
glow_run_base_set_state(run_base *b, glow_run_device_state state)
{
    pthread_mutex_lock(&b->lock);
    b->state = state;
    pthread_mutex_unlock(&b->lock);
}

bool
glow_run_base_is_lost(run_base *b, glow_report_text *r)
{
    bool lost;

    pthread_mutex_lock(&b->lock);
    lost = b->state == GLOW_RUN_DEVICE_LOST;
    pthread_mutex_unlock(&b->lock);
    if (lost && r)
        snprintf(r->text, sizeof r->text, "device %s is lost", b->options.name);
    return lost;
}

void
glow_run_base_info(run_base *b, glow_run_device_info *out)
{
    pthread_mutex_lock(&b->lock);
    *out = (glow_run_device_info){
        .state = b->state,
        .memory = b->options.memory,
        .used = b->used,
        .queues = b->options.queues > 0 ? b->options.queues : 1,
    };
    pthread_mutex_unlock(&b->lock);
}

void
glow_run_base_statistics(glow_run_device *d, glow_run_device_statistics *out)
{
    run_base *b = (run_base *)d;

    pthread_mutex_lock(&b->lock);
    *out = b->counts;
    pthread_mutex_unlock(&b->lock);
}

void
glow_run_base_count(run_base *b, glow_outcome o, int64_t begin)
{
    pthread_mutex_lock(&b->lock);
    b->counts.runs++;
    b->counts.failures += o != GLOW_RUN_DONE;
    b->counts.busy_ns += glow_now() - begin;
    pthread_mutex_unlock(&b->lock);
}

/* Memory. */

bool
glow_run_base_reserve(run_base *b, int64_t bytes)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    ok = b->state != GLOW_RUN_DEVICE_LOST && bytes >= 0 &&
         (!b->options.memory || bytes <= b->options.memory - b->used);
    if (ok)
        b->used += bytes;
    pthread_mutex_unlock(&b->lock);
    return ok;
}

void
glow_run_base_give_back(run_base *b, int64_t bytes)
{
    pthread_mutex_lock(&b->lock);
    b->used -= bytes;
    pthread_mutex_unlock(&b->lock);
}

bool
glow_run_base_reserve_network(run_base *b, glow_context *ctx, const char *path,
                              int64_t bytes)
{
    glow_run_device_info i;

    if (glow_run_base_reserve(b, bytes))
        return true;
    glow_run_base_info(b, &i);
    return glow_error(ctx, "E1001",
                      "device %s has no room for %s: it needs %" PRId64
                      " bytes, and %" PRId64 " of %" PRId64 " are free",
                      b->options.name, path, bytes, i.memory - i.used,
                      i.memory);
}

/* Copies. */

void
glow_run_sleep_until(int64_t at)
{
    struct timespec t = {.tv_sec = (time_t)(at / 1000000000),
                         .tv_nsec = (long)(at % 1000000000)};

    while (glow_now() < at)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Writes the checksum of a tensor that was copied in, or compares it; false: it differs. */
static bool
settle_checksum(const run_copy *c)
{
    void *place = glow_wire_sum_of((void *)(uintptr_t)c->at);
    const uint64_t sum = glow_wire_sum(c->host, (size_t)c->bytes);

    if (c->in)
        memcpy(place, &sum, sizeof sum);
    return memcmp(place, &sum, sizeof sum) == 0;
}

static void
move(const run_copy *c)
{
    const glow_backend_memory *m = c->base->options.backend->memory;
    void *there = (void *)(uintptr_t)c->at;
    size_t bytes = (size_t)c->bytes;

    if (c->memory && c->in)
        m->write(c->memory, c->at, c->host, c->bytes);
    else if (c->memory)
        m->read(c->memory, c->host, c->at, c->bytes);
    else
        memcpy(c->in ? there : c->host, c->in ? c->host : there, bytes);
}

static glow_outcome
do_copy(void *work, int worker, glow_report_text *r)
{
    run_copy *c = work;
    run_base *b = c->base;
    int64_t begin = glow_now();

    (void)worker;
    if (glow_run_base_is_lost(b, r))
        return GLOW_RUN_CANCELLED;
    move(c);
    if (c->checksum && !settle_checksum(c)) {
        snprintf(r->text, sizeof r->text,
                 "a tensor changed in memory shared with device %s",
                 b->options.name);
        return GLOW_RUN_LOST;
    }
    if (c->ps)
        glow_run_sleep_until(begin + c->ps * c->bytes / 1000);
    pthread_mutex_lock(&b->lock);
    *(c->in ? &b->counts.bytes_in : &b->counts.bytes_out) += c->bytes;
    pthread_mutex_unlock(&b->lock);
    return GLOW_RUN_DONE;
}

void
glow_run_base_copy(run_queue *q, const run_copy *c, const glow_command *command)
{
    run_copy *own = glow_heap_new(sizeof *own);

    *own = *c;
    glow_run_queue_put(q, command, do_copy, own);
}

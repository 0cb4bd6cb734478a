/* Chunks of samples on a host: a window of requests, each of one batch. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-work/work.h"

enum { AHEAD = 4 }; /* requests for each device */

/* An input of the network and its file. */
typedef struct source {
    const char *name;
    npy_array samples;
    size_t bytes; /* of a sample */
} source;

/* An output of the chunk that is run. */
typedef struct target {
    const glow_port *port;
    glow_tensor all;
    size_t bytes; /* of a sample */
} target;

struct work_runner {
    work *work;
    glow_host *host;
    glow_arena *arena; /* of the set that is open */
    glow_arena *names; /* of the files of a chunk */
    int64_t id;        /* of that set; 0: none is open */
    glow_service *service;
    source *sources;
    target *targets;
    int n_sources, n_targets;
    glow_request **requests; /* the window, a ring */
    int64_t window;
};

int
work_runner_open(work *w, work_runner **out)
{
    work_runner *r = GLOW_NEW(w->tool.arena, work_runner);

    *r = (work_runner){
        .work = w,
        .arena = glow_arena_new(),
        .names = glow_arena_new(),
        .window = AHEAD * w->values.devices.count,
    };
    *out = r;
    r->requests = GLOW_NEW_ARRAY(w->tool.arena, glow_request *, r->window);
    return tool_open_host(&w->tool, &w->values.devices,
                          &(glow_host_options){.queue = (int)r->window},
                          &r->host);
}

static void
close_set(work_runner *r)
{
    for (int i = 0; i < r->n_sources; i++)
        glow_data_unref(r->sources[i].samples.file);
    if (r->service) {
        glow_service_release(r->service);
        glow_host_remove(r->host, "set");
    }
    r->service = NULL;
    r->n_sources = r->n_targets = 0;
    r->id = 0;
    glow_arena_reset(r->arena);
}

void
work_runner_close(work_runner *r)
{
    if (!r)
        return;
    close_set(r);
    if (r->host)
        glow_host_free(r->host);
    glow_arena_free(r->arena);
    glow_arena_free(r->names);
}

/* Opening a set. */

/* Maps the file of an input; it must be as it was when the set was described. */
static bool
open_source(work_runner *r, const work_set *s, const glow_port *p)
{
    source *x = &r->sources[r->n_sources];
    const char *path = NULL;
    const glow_type *type;

    for (size_t i = 0; i < s->inputs.count && !path; i++)
        path = work_file_of(s->inputs.items[i], p->name);
    if (!path)
        return glow_error(r->work->tool.ctx, "E1104",
                          "%s has an input @%s, for which the set has no file",
                          s->model, p->name);
    if (!work_map(&r->work->tool, path, p->name, &x->samples))
        return false;
    x->name = glow_arena_strdup(r->arena, p->name);
    x->bytes = (size_t)(p->bytes / s->batch);
    r->n_sources++;
    type = x->samples.elements.type;
    if (x->samples.swap || type->elem != p->type->elem ||
        type->shape.rank == 0 || type->shape.at[0] == 0 ||
        (size_t)(glow_type_bytes(type) / type->shape.at[0]) != x->bytes)
        return glow_error(r->work->tool.ctx, "E1104",
                          "%s has other samples than @%s of %s takes", path,
                          p->name, s->model);
    return true;
}

static bool
open_set(work_runner *r, const work_set *s, int64_t id)
{
    const glow_service_options o = {
        .name = "set",
        .path = s->model,
        .batch = (int)s->batch,
    };
    const glow_port *ports;
    bool ok = true;
    int n;

    close_set(r);
    if (!glow_host_add(r->host, r->work->tool.ctx, &o))
        return false;
    r->service = glow_host_find(r->host, "set");
    n = glow_service_ports(r->service, &ports);
    r->sources = GLOW_NEW_ARRAY(r->arena, source, n);
    r->targets = GLOW_NEW_ARRAY(r->arena, target, n);
    for (int i = 0; i < n && ok; i++) {
        if (ports[i].written)
            r->targets[r->n_targets++] = (target){
                .port = &ports[i],
                .bytes = (size_t)(ports[i].bytes / s->batch),
            };
        if (ports[i].read)
            ok = open_source(r, s, &ports[i]);
    }
    if (ok && (size_t)r->n_targets != s->outputs.count)
        ok = glow_error(r->work->tool.ctx, "E1104",
                        "%s has other outputs than the set", s->model);
    if (ok)
        r->id = id;
    else
        close_set(r);
    return ok;
}

/* Running. */

/* The mapped file outlives the request. */
static void
keep(void *user)
{
    (void)user;
}

static glow_request *
begin(work_runner *r, int64_t first, int64_t count)
{
    glow_input *in = calloc((size_t)r->n_sources + 1, sizeof *in);
    glow_request *request;

    for (int i = 0; in && i < r->n_sources; i++) {
        const source *x = &r->sources[i];

        in[i] = (glow_input){
            .name = x->name,
            .data = (const char *)x->samples.elements.data +
                    (size_t)first * x->bytes,
            .bytes = (size_t)count * x->bytes,
            .release = keep,
        };
    }
    request = in ? glow_service_run(r->service, in, r->n_sources, NULL) : NULL;
    free(in);
    return request;
}

/* Waits for a request and copies its outputs to sample `at` of the chunk. */
static bool
end(work_runner *r, glow_request *request, int64_t at)
{
    glow_report_text why = {.text = "there is no memory for its inputs"};
    bool ok = request && glow_fence_wait(glow_request_fence(request), INT64_MAX,
                                         &why) == GLOW_RUN_DONE;

    for (int i = 0; ok && i < r->n_targets; i++) {
        const target *x = &r->targets[i];
        size_t bytes;
        const void *data = glow_request_output(request, x->port->name, &bytes);

        memcpy((char *)x->all.data + (size_t)at * x->bytes, data, bytes);
    }
    if (request)
        glow_request_release(request);
    if (!ok)
        glow_error(r->work->tool.ctx, "E1106", "a run failed: %s", why.text);
    return ok;
}

static bool
run(work_runner *r, const work_set *s, int64_t first, int64_t count)
{
    int64_t n = (count + s->batch - 1) / s->batch;
    bool ok = true;

    for (int64_t k = 0; k < n + r->window; k++) {
        glow_request **slot = &r->requests[k % r->window];
        int64_t at = k * s->batch, old = k - r->window;

        if (old >= 0 && old < n && *slot) {
            if (!end(r, *slot, old * s->batch))
                ok = false;
            *slot = NULL;
        }
        if (ok && k < n)
            *slot = begin(r, first + at,
                          count - at < s->batch ? count - at : s->batch);
        if (ok && k < n && !*slot)
            ok = end(r, NULL, at);
    }
    return ok;
}

static bool
holds(const work_runner *r, int64_t first, int64_t count)
{
    for (int i = 0; i < r->n_sources; i++)
        if (r->sources[i].samples.elements.type->shape.at[0] - count < first)
            return false;
    return true;
}

static bool
write_all(work_runner *r, const work_set *s, int64_t first)
{
    bool ok = true;

    glow_arena_reset(r->names);
    for (int i = 0; i < r->n_targets && ok; i++)
        for (size_t k = 0; k < s->outputs.count; k++)
            if (strcmp(s->outputs.items[k], r->targets[i].port->name) == 0)
                ok = npy_write(r->work->tool.ctx,
                               work_result_path(r->names, s, k, first),
                               &r->targets[i].all);
    return ok;
}

bool
work_run_chunk(work_runner *r, const work_set *s, int64_t id, int64_t first,
               int64_t count)
{
    bool ok;

    if (r->id != id && !open_set(r, s, id))
        return false;
    if (!holds(r, first, count))
        return glow_error(r->work->tool.ctx, "E1104",
                          "the files of %s have no samples %" PRId64
                          " to %" PRId64,
                          s->name, first, first + count - 1);
    for (int i = 0; i < r->n_targets; i++) {
        glow_type type = *r->targets[i].port->type;

        type.strides.rank = 0;
        type.shape.at[0] = count;
        r->targets[i].all =
            glow_tensor_new(glow_type_get(r->work->tool.ctx, type));
    }
    ok = run(r, s, first, count) && write_all(r, s, first);
    for (int i = 0; i < r->n_targets; i++)
        glow_tensor_end(&r->targets[i].all);
    return ok;
}

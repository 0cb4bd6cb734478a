/*
 * -in-flight: the runs of the inputs as requests of the runtime, several at once, each
 * part of a request on its device, or all of it on one.
 */

#define _GNU_SOURCE /* mkdtemp */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glow/devices.h"
#include "glow/file.h"
#include "glow/host.h"
#include "glow/pipeline.h"
#include "glow/text.h"
#include "tools/glow-run/run.h"

/* A file with Runs of a network that has none, in a folder of its own. */
typedef struct parts {
    const char *folder; /* NULL: there is none */
    const char *text, *weights;
} parts;

typedef struct sending {
    run *run;
    parts parts;
    glow_host *host;
    glow_service *service;
    glow_service_state *state; /* NULL: the network has none */
    glow_input *inputs;
    int n_inputs;
} sending;

int
check_requests(run *r)
{
    const run_values *v = &r->values;

    if (v->in_flight == 0 && (v->executor || v->isolate || v->resident))
        return tool_usage(
            &r->tool, "add -in-flight=N",
            "-executor, -isolate and -resident go with -in-flight");
    if (v->in_flight == 0)
        return TOOL_GO_ON;
    if (v->in_flight < 1 || v->in_flight > 1024)
        return tool_usage(&r->tool, NULL, "-in-flight takes 1 to 1024");
    if (r->tool.inputs.count == 0 || strcmp(r->tool.inputs.items[0], "-") == 0)
        return tool_usage(&r->tool, NULL,
                          "-in-flight reads a file, which has a name");
    if (v->isolate && (v->winograd || v->subnormals || v->exact ||
                       v->red_zones || v->threads > 1))
        return tool_usage(
            &r->tool, "-backend='cpu<winograd=off>' is passed on",
            "-isolate goes with none of -winograd, -subnormals, -exact, "
            "-red-zones and -threads");
    if (v->profile || v->json || v->convert || v->quantize || v->accuracy ||
        v->dump_profile || v->load_profile.count || v->passes ||
        v->weights.count || v->tuning.tune)
        return tool_usage(
            &r->tool, NULL,
            "-in-flight goes with none of -profile, -json, -convert, "
            "-quantize, -accuracy, -dump-profile, -load-profile, "
            "-passes, -weights and -tune");
    return TOOL_GO_ON;
}

/* Devices. */

static bool
add_device(sending *s, const char *name, const glow_device *d)
{
    run *r = s->run;
    glow_target_options *own = GLOW_NEW(r->tool.arena, glow_target_options);
    const glow_run_device_options o = {
        .name = name,
        .backend = d->backend,
        .code = own,
        .memory = d->memory == INT64_MAX ? 0 : d->memory,
        .checksums = d->checksums,
        .command = tool_device_command(&r->tool, d->backend_text, r->values.cpu,
                                       r->values.features),
    };

    *own = target_options(r);
    own->options = d->options;
    return glow_host_add_device(s->host, r->tool.ctx,
                                r->values.isolate ? &glow_run_device_remote
                                                  : &glow_run_device_local,
                                &o);
}

/*
 * Devices of -backend: as many as fill the processors, and -in-flight keeps busy; one for
 * state that stays there.
 */
static bool
add_replicas(sending *s)
{
    run *r = s->run;
    const glow_device d = {
        .backend_text = r->values.backend,
        .backend = r->backend,
        .options = r->options,
        .memory = INT64_MAX,
    };
    int64_t n = sysconf(_SC_NPROCESSORS_ONLN) / r->values.threads;

    n = n < r->values.in_flight ? n : r->values.in_flight;
    n = r->values.resident ? 1 : n;
    for (int64_t i = 0; i < n || i == 0; i++)
        if (!add_device(s,
                        glow_arena_printf(r->tool.arena, "%s%" PRId64,
                                          r->backend->name, i),
                        &d))
            return false;
    return true;
}

static bool
add_devices(sending *s)
{
    run *r = s->run;
    const glow_devices *all;

    if (!r->values.devices)
        return add_replicas(s);
    all = glow_devices_read(r->tool.ctx, r->tool.arena, r->values.devices);
    for (int i = 0; all && i < all->count; i++)
        if (!add_device(s, all->at[i].name, &all->at[i]))
            return false;
    return all;
}

/* Parts of a network without Runs. */

static bool
partition(run *r)
{
    const char *text = glow_arena_printf(
        r->tool.arena, "reduce,partition<devices=\"%s\">", r->values.devices);
    const glow_source *source =
        glow_source_from(r->tool.ctx, "-devices", text, strlen(text));
    glow_pipeline *p = glow_pipeline_parse(r->tool.ctx, r->tool.arena, source);

    return p && glow_pipeline_run(p, r->module, NULL);
}

/* Writes the partitioned module, for devices read files; false after a report. */
static bool
write_parts(sending *s)
{
    run *r = s->run;
    parts *p = &s->parts;
    const char *temporary = getenv("TMPDIR");
    char *folder = glow_arena_printf(r->tool.arena, "%s/glow-run-XXXXXX",
                                     temporary ? temporary : "/tmp");
    glow_buf b = {0};
    bool ok;

    if (!partition(r))
        return false;
    if (!mkdtemp(folder))
        return glow_error(r->tool.ctx, "E0602", "the folder %s cannot be made",
                          folder);
    p->folder = folder;
    p->text = glow_arena_printf(r->tool.arena, "%s/parts.gir", folder);
    p->weights =
        glow_arena_printf(r->tool.arena, "%s/parts.safetensors", folder);
    ok = glow_externalize(r->module, "parts", p->weights, 64);
    glow_rebase_weights(r->module, folder);
    glow_print(&b, r->module, NULL);
    ok = ok && glow_file_write(r->tool.ctx, p->text, b.text, b.len);
    glow_buf_free(&b);
    return ok;
}

static void
remove_parts(const parts *p)
{
    if (!p->folder)
        return;
    unlink(p->text);
    unlink(p->weights);
    rmdir(p->folder);
}

/* The service and its state. */

static bool
add_service(sending *s)
{
    run *r = s->run;

    if (!glow_host_add(
            s->host, r->tool.ctx,
            &(glow_service_options){
                .name = r->func->name,
                .path = s->parts.text ? s->parts.text : r->tool.inputs.items[0],
                .function = r->func->name,
                .passes = level_of(r),
                .active = (int)r->values.in_flight,
                .resident = r->values.resident,
            }))
        return false;
    s->service = glow_host_find(s->host, r->func->name);
    s->state = glow_service_state_new(s->service);
    return !s->state || !r->values.state ||
           access(r->values.state, F_OK) != 0 ||
           glow_service_state_load(s->state, r->tool.ctx, r->values.state);
}

static run_port *
port_of(const run *r, const char *name)
{
    size_t i = 0;

    while (strcmp(r->ports[i].storage->name, name) != 0)
        i++;
    return &r->ports[i];
}

/* State is in the file of -state alone. */
static int
check_kept(const sending *s)
{
    run *r = s->run;

    if (s->state && !r->values.state)
        return tool_usage(&r->tool, "add -state=FILE",
                          "-in-flight: the network has state");
    if (r->values.resident && !s->state)
        return tool_usage(&r->tool, NULL, "-resident: @%s has no state",
                          r->func->name);
    for (size_t i = 0; i < r->n_ports; i++)
        if (r->ports[i].is_kept && r->ports[i].input)
            return tool_usage(&r->tool, NULL,
                              "-in-flight: @%s is state, and takes no -input",
                              r->ports[i].storage->name);
    return TOOL_GO_ON;
}

/* Makes room for the inputs of a request, and for the outputs of all. */
static int
open_tensors(sending *s)
{
    run *r = s->run;
    const glow_port *ports;
    int n = glow_service_ports(s->service, &ports);

    s->inputs = GLOW_NEW_ARRAY(r->tool.arena, glow_input, n + 1);
    for (int i = 0; i < n; i++) {
        run_port *p = port_of(r, ports[i].name);
        glow_type t = *p->type;

        if (ports[i].read)
            s->inputs[s->n_inputs++].name = ports[i].name;
        if (!ports[i].written)
            continue;
        if (r->runs > 1 && t.shape.rank == 0)
            return tool_usage(&r->tool, NULL,
                              "@%s has no axis for several runs",
                              ports[i].name);
        if (r->runs > 1)
            t.shape.at[0] *= r->runs;
        p->got = glow_tensor_new(glow_type_get(r->tool.ctx, t));
    }
    return TOOL_GO_ON;
}

/* Requests. */

static void
keep(void *user)
{
    (void)user;
}

static glow_request *
begin(sending *s, int64_t k)
{
    run *r = s->run;

    for (int i = 0; i < s->n_inputs; i++) {
        const run_port *p = port_of(r, s->inputs[i].name);
        size_t bytes = (size_t)glow_type_bytes(p->type);
        size_t at = p->runs > 1 ? (size_t)(k % r->runs) * bytes : 0;

        s->inputs[i].data = (const char *)p->all.data + at;
        s->inputs[i].bytes = bytes;
        s->inputs[i].release = keep; /* it stays where it is */
    }
    return (r->values.in_flight == 1 ? glow_service_call : glow_service_run)(
        s->service, s->inputs, s->n_inputs,
        &(glow_request_options){.state = s->state});
}

static void
take_outputs(sending *s, const glow_request *q, int64_t k)
{
    const run *r = s->run;

    for (size_t i = 0; i < r->n_ports; i++) {
        const run_port *p = &r->ports[i];
        size_t bytes;
        const void *data =
            p->got.data ? glow_request_output(q, p->storage->name, &bytes)
                        : NULL;

        if (data && bytes)
            memcpy((char *)p->got.data + (size_t)k * bytes, data, bytes);
    }
}

/* Waits for request `k`, and releases it; false after a report. */
static bool
finish(sending *s, glow_request *q, int64_t k)
{
    glow_report_text why;
    bool ok = glow_fence_wait(glow_request_fence(q), INT64_MAX, &why) ==
              GLOW_RUN_DONE;

    if (!ok)
        glow_error(s->run->tool.ctx, "E1012", "run %" PRId64 ": %s: %s", k,
                   glow_outcome_name(why.outcome), why.text);
    else if (k < s->run->runs)
        take_outputs(s, q, k);
    glow_request_release(q);
    return ok;
}

/* Makes `count` requests, with a window of those that have not been waited for. */
static bool
send_all(sending *s, int64_t count)
{
    int64_t most = s->run->values.in_flight, sent = 0;
    glow_request **window =
        GLOW_NEW_ARRAY(s->run->tool.arena, glow_request *, most);
    bool ok = true;

    for (int64_t k = 0; k < count; k++) {
        for (; ok && sent < count && sent < k + most; sent++)
            window[sent % most] = begin(s, sent);
        if (k >= sent)
            break;
        ok = finish(s, window[k % most], k) && ok;
    }
    return ok;
}

static int
time_all(sending *s)
{
    const run_values *v = &s->run->values;
    int64_t runs = s->run->runs;
    int64_t count = v->bench && v->iterations > runs ? v->iterations : runs;
    double from, ms;

    if (v->bench && !send_all(s, v->warmup))
        return TOOL_FAILED;
    from = now_ms();
    if (!send_all(s, count))
        return TOOL_FAILED;
    ms = now_ms() - from;
    if (v->bench)
        tool_print(stdout,
                   "%" PRId64 " requests, at most %" PRId64
                   " at once, in %.3f ms: %.1f in a second\n",
                   count, v->in_flight, ms, 1e3 * (double)count / ms);
    return TOOL_GO_ON;
}

/* Makes the outputs of all runs those of the ports. */
static void
give_outputs(run *r)
{
    for (size_t i = 0; i < r->n_ports; i++) {
        run_port *p = &r->ports[i];

        if (!p->got.data)
            continue;
        glow_tensor_end(&p->tensor);
        p->tensor = p->got;
        p->type = p->tensor.type;
        p->got = (glow_tensor){0};
    }
}

static int
write_trace(sending *s)
{
    run *r = s->run;
    glow_buf b = {0};
    bool ok;

    glow_host_trace(s->host, &b);
    ok = glow_file_write(r->tool.ctx, r->values.trace, b.text, b.len);
    glow_buf_free(&b);
    return ok ? TOOL_GO_ON : TOOL_FAILED;
}

/* Writes the file of -state, and gives the ports its tensors. */
static int
keep_state(sending *s)
{
    run *r = s->run;
    const char *path = r->values.state;

    return glow_service_state_save(s->state, r->tool.ctx, path) &&
                   glow_state_load(r->state, path)
               ? TOOL_GO_ON
               : TOOL_FAILED;
}

static int
work(sending *s)
{
    run *r = s->run;
    bool whole = r->values.devices && !glow_has_runs(r->func);
    int code = (!whole || write_parts(s)) && add_devices(s) && add_service(s)
                   ? TOOL_GO_ON
                   : TOOL_FAILED;

    if (code == TOOL_GO_ON)
        code = check_kept(s);
    if (code == TOOL_GO_ON)
        code = open_tensors(s);
    if (code == TOOL_GO_ON)
        code = time_all(s);
    if (code == TOOL_GO_ON && r->values.trace)
        code = write_trace(s);
    if (code == TOOL_GO_ON && s->state)
        code = keep_state(s);
    return code;
}

int
run_requests(run *r)
{
    sending s = {.run = r};
    int code;

    if (!r->values.devices && glow_has_runs(r->func))
        return tool_usage(&r->tool, "add -devices=FILE",
                          "-in-flight: @%s has parts for devices",
                          r->func->name);
    s.host = tool_new_host(&r->tool, r->values.executor,
                           &(glow_host_options){
                               .queue = (int)r->values.in_flight,
                               .trace = r->values.trace != NULL,
                           });
    if (!s.host)
        return TOOL_FAILED;
    code = work(&s);
    if (s.state)
        glow_service_state_release(s.state);
    if (s.service)
        glow_service_release(s.service);
    glow_host_free(s.host);
    remove_parts(&s.parts);
    if (code == TOOL_GO_ON)
        give_outputs(r);
    return code;
}

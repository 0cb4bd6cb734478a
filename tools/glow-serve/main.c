/*
 * glow-serve: networks over HTTP, by the Open Inference Protocol, version 2.
 */

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "tools/glow-serve/serve.h"

#define AT(member) offsetof(serve_values, member)

static const tool_option options[] = {
    {"models", TOOL_TEXT, AT(models), "DIR", NULL, "models",
     "serve DIR/NAME/VERSION/model.gir of all names and versions"},
    {"backend", TOOL_TEXT, AT(backend), "NAME", NULL, "models",
     "what runs them: cpu, interp (cpu), with options: 'cpu<winograd=off>'"},
    {"cpu", TOOL_TEXT, AT(cpu), "NAME", NULL, "models",
     "make code as for this processor, which this one can stand in for"},
    {"features", TOOL_TEXT, AT(features), "LIST", NULL, "models",
     "with these features and without those, as -avx2,-fma"},
    {"devices", TOOL_INT, AT(devices), "N", NULL, "models",
     "threads that run networks, one request each (1)"},
    {"isolate", TOOL_FLAG, AT(isolate), NULL, NULL, "models",
     "give each device a process, which may crash without harm"},
    {"memory", TOOL_TEXT, AT(memory), "BYTES", NULL, "models",
     "what all networks of a device may take, as 512MiB (no limit)"},

    {"queue", TOOL_INT, AT(queue), "N", NULL, "requests",
     "requests that may wait; more get status 503 (200)"},
    {"active", TOOL_INT, AT(active), "N", NULL, "requests",
     "requests of a model that run at once (4 for each device)"},
    {"batch", TOOL_INT, AT(batch), "N", NULL, "requests",
     "samples to put together, which the first axes count (1)"},
    {"batch-us", TOOL_INT, AT(batch_us), "US", NULL, "requests",
     "how long a request waits for others (2000)"},
    {"timeout-ms", TOOL_INT, AT(timeout_ms), "MS", NULL, "requests",
     "end requests that take longer and name no time of their own (no limit)"},
    {"limit-ms", TOOL_INT, AT(limit_ms), "MS", NULL, "requests",
     "with -isolate: end a process whose run takes longer (no limit)"},
    {"max-body", TOOL_TEXT, AT(most_body), "BYTES", NULL, "requests",
     "the largest request (64MiB)"},

    {"address", TOOL_TEXT, AT(address), "A.B.C.D", NULL, "serving",
     "where it listens (127.0.0.1)"},
    {"port", TOOL_INT, AT(port), "PORT", NULL, "serving",
     "the port; 0: any, which it prints (8000)"},
    {"threads", TOOL_INT, AT(threads), "N", NULL, "serving",
     "threads for connections (2)"},
    {"drain-ms", TOOL_INT, AT(drain_ms), "MS", NULL, "serving",
     "after SIGTERM, be unready for so long, then end (0)"},
    {0},
};

static const tool_spec spec = {
    .name = "glow-serve",
    .usage = "[OPTION]... [NAME=FILE.gir]... ",
    .about = "Serves networks by the Open Inference Protocol, version 2, until "
             "SIGTERM.",
    .options = options,
};

static int
check_usage(server *s)
{
    const serve_values *v = &s->values;

    if (s->tool.inputs.count == 0 && !v->models)
        return tool_usage(&s->tool, "name a model, or -models=DIR",
                          "there is nothing to serve");
    if (v->port < 0 || v->port > 65535)
        return tool_usage(&s->tool, NULL, "-port takes 0 to 65535");
    if (v->threads < 1 || v->threads > TOOL_MOST_THREADS || v->devices < 1 ||
        v->devices > TOOL_MOST_THREADS)
        return tool_usage(&s->tool, NULL, "-threads and -devices take 1 to %d",
                          TOOL_MOST_THREADS);
    if (v->queue < 1 || v->queue > 1000000 || v->active < 0 ||
        v->active > 1000000)
        return tool_usage(&s->tool, NULL, "-queue takes 1 to 1000000, -active 0 "
                                          "to 1000000");
    if (v->batch < 1 || v->batch > 65536 || v->batch_us < 0 ||
        v->batch_us > 60000000)
        return tool_usage(&s->tool, NULL, "-batch takes 1 to 65536, -batch-us 0 "
                                          "to 60000000");
    if (v->limit_ms < 0 || v->limit_ms > 86400000 ||
        (v->limit_ms && !v->isolate))
        return tool_usage(&s->tool, "add -isolate",
                          "-limit-ms goes with -isolate, and takes 0 to a day of "
                          "them");
    if (v->timeout_ms < 0 || v->timeout_ms > 86400000 || v->drain_ms < 0 ||
        v->drain_ms > 86400000)
        return tool_usage(&s->tool, NULL,
                          "-timeout-ms and -drain-ms take 0 to a day of them");
    if (!glow_read_bytes(v->most_body, &s->most_body) || s->most_body < 1)
        return tool_usage(&s->tool, NULL,
                          "-max-body wants bytes above 0, as 65536, 512KiB or "
                          "4MiB, not '%s'", v->most_body);
    return TOOL_GO_ON;
}

/* The command of a device in a process of its own. */
static const char *const *
command(server *s)
{
    const serve_values *v = &s->values;
    tool_list l = {0};

    tool_list_add(&s->tool, &l, "glow-device");
    tool_list_add(&s->tool, &l,
                  glow_arena_printf(s->tool.arena, "-backend=%s", v->backend));
    if (v->cpu)
        tool_list_add(&s->tool, &l,
                      glow_arena_printf(s->tool.arena, "-cpu=%s", v->cpu));
    if (v->features)
        tool_list_add(&s->tool, &l, glow_arena_printf(s->tool.arena,
                                                      "-features=%s",
                                                      v->features));
    for (size_t i = 0; i < s->tool.common.plugins.count; i++)
        tool_list_add(&s->tool, &l,
                      glow_arena_printf(s->tool.arena, "-plugin=%s",
                                        s->tool.common.plugins.items[i]));
    tool_list_add(&s->tool, &l, NULL);
    return l.items;
}

static int
add_devices(server *s, const glow_target_options *code)
{
    const tool_list none = {0};
    glow_run_device_options o = {.code = code};

    o.backend = tool_find_backend(&s->tool, s->values.backend, &none,
                                  (const void **)(uintptr_t)&code->options);
    if (!o.backend)
        return TOOL_USAGE;
    if (s->values.memory && (!glow_read_bytes(s->values.memory, &o.memory) ||
                             o.memory <= 0))
        return tool_usage(&s->tool, NULL,
                          "-memory wants bytes above 0, as 512KiB or 4MiB, not "
                          "'%s'", s->values.memory);
    if (s->values.isolate)
        o.command = command(s);
    for (int64_t i = 0; i < s->values.devices; i++) {
        o.name = glow_arena_printf(s->tool.arena, "%s%" PRId64,
                                   o.backend->name, i);
        if (!glow_host_add_device(s->host, s->tool.ctx,
                                  s->values.isolate ? &glow_run_device_remote
                                                    : &glow_run_device_local,
                                  &o))
            return TOOL_FAILED;
    }
    return TOOL_GO_ON;
}

static int
work(server *s)
{
    glow_target_options *code = GLOW_NEW(s->tool.arena, glow_target_options);
    int result = check_usage(s);

    if (result != TOOL_GO_ON)
        return result;
    *code = (glow_target_options){
        .cpu = s->values.cpu,
        .features = s->values.features,
    };
    s->host = glow_host_new(&(glow_host_options){
        .queue = (int)s->values.queue,
        .limit_ns = s->values.limit_ms * 1000000,
    });
    result = add_devices(s, code);
    for (size_t i = 0; i < s->tool.inputs.count && result == TOOL_GO_ON; i++)
        result = serve_add_argument(s, s->tool.inputs.items[i]);
    if (result == TOOL_GO_ON && s->values.models)
        result = serve_add_folder(s);
    return result == TOOL_GO_ON ? serve_http(s) : result;
}

int
main(int argc, char **argv)
{
    server s = {
        .values = {.address = "127.0.0.1", .port = 8000, .threads = 2,
                   .devices = 1, .queue = 200, .batch = 1, .batch_us = 2000,
                   .most_body = "64MiB", .backend = "cpu"},
    };
    sigset_t ends;
    int code;

    /* Threads inherit it: the signals are waited for by the first one. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_mutex_init(&s.lock, NULL);
    pthread_mutex_init(&s.loading, NULL);
    code = tool_begin(&s.tool, &spec, &s.values, argc, argv);
    if (code == TOOL_GO_ON) {
        pthread_sigmask(SIG_BLOCK, &ends, NULL);
        signal(SIGPIPE, SIG_IGN);
        code = work(&s);
    }
    if (s.host)
        glow_host_free(s.host);
    pthread_mutex_destroy(&s.loading);
    pthread_mutex_destroy(&s.lock);
    return tool_end(&s.tool, code);
}

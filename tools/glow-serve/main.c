/*
 * glow-serve: networks over HTTP, by the Open Inference Protocol, version 2.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-serve/serve.h"

#define AT(member) offsetof(serve_values, member)

static const tool_option options[] = {
    {"models", TOOL_TEXT, AT(models), "DIR", NULL, "models",
     "serve DIR/NAME/VERSION/model[-*].gir of all names and versions"},
    TOOL_DEVICE_OPTIONS(AT(devices), "models"),

    {"queue", TOOL_INT, AT(queue), "N", NULL, "requests",
     "requests that may wait; more get status 503 (200)"},
    {"active", TOOL_INT, AT(active), "N", NULL, "requests",
     "requests of a model that run at once (4 for each device)"},
    {"batch", TOOL_INT, AT(batch), "N", NULL, "requests",
     "samples to put together, by the first axes; several files have theirs (1)"},
    {"batch-us", TOOL_INT, AT(batch_us), "US", NULL, "requests",
     "how long a request waits for others (2000)"},
    {"timeout-ms", TOOL_INT, AT(timeout_ms), "MS", NULL, "requests",
     "end requests that take longer and name no time of their own (no limit)"},
    {"max-body", TOOL_BYTES, AT(most_body), "BYTES", NULL, "requests",
     "the largest request (64MiB)"},

    {"sequences", TOOL_INT, AT(sequences), "N", NULL, "requests",
     "sequences that may be live; more get status 503 (1000)"},
    {"resident", TOOL_FLAG, AT(resident), NULL, NULL, "requests",
     "keep the state of sequences in memory of the device that uses it, instead of copying "
     "it for each request"},
    {"sequence-idle-ms", TOOL_INT, AT(sequence_idle_ms), "MS", NULL, "requests",
     "end sequences that nothing asks for so long (60000)"},

    {"address", TOOL_TEXT, AT(address), "A.B.C.D", NULL, "serving",
     "where it listens (127.0.0.1)"},
    {"port", TOOL_INT, AT(port), "PORT", NULL, "serving",
     "the port; 0: any, which it prints (8000)"},
    {"threads", TOOL_INT, AT(threads), "N", NULL, "serving",
     "threads for connections (2)"},
    {"connections", TOOL_INT, AT(connections), "N", NULL, "serving",
     "connections at once; more wait to be taken (1000)"},
    {"transfer-ms", TOOL_INT, AT(transfer_ms), "MS", NULL, "serving",
     "end connections over which a request or an answer takes longer (60000)"},
    {"drain-ms", TOOL_INT, AT(drain_ms), "MS", NULL, "serving",
     "after SIGTERM, be unready for so long, then end (0)"},
    {"end-ms", TOOL_INT, AT(end_ms), "MS", NULL, "serving",
     "then, cancel requests that take longer (60000)"},
    {0},
};

static const tool_spec spec = {
    .name = "glow-serve",
    .usage = "[OPTION]... [NAME=FILE.gir[,FILE.gir]...]... ",
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
    if (v->threads < 1 || v->threads > TOOL_MOST_THREADS)
        return tool_usage(&s->tool, NULL, "-threads takes 1 to %d",
                          TOOL_MOST_THREADS);
    if (v->queue < 1 || v->queue > 1000000 || v->active < 0 ||
        v->active > 1000000)
        return tool_usage(&s->tool, NULL,
                          "-queue takes 1 to 1000000, -active 0 "
                          "to 1000000");
    if (v->batch < 1 || v->batch > 65536 || v->batch_us < 0 ||
        v->batch_us > 60000000)
        return tool_usage(&s->tool, NULL,
                          "-batch takes 1 to 65536, -batch-us 0 "
                          "to 60000000");
    if (v->timeout_ms < 0 || v->timeout_ms > 86400000 || v->drain_ms < 0 ||
        v->drain_ms > 86400000 || v->end_ms < 0 || v->end_ms > 86400000)
        return tool_usage(&s->tool, NULL,
                          "-timeout-ms, -drain-ms and -end-ms take 0 "
                          "to a day of them");
    if (v->sequences < 1 || v->sequences > 1000000 || v->sequence_idle_ms < 1 ||
        v->sequence_idle_ms > 86400000)
        return tool_usage(&s->tool, NULL,
                          "-sequences takes 1 to 1000000, "
                          "-sequence-idle-ms 1 to a day of them");
    if (v->connections < 1 || v->connections > 1000000 || v->transfer_ms < 1 ||
        v->transfer_ms > 86400000)
        return tool_usage(&s->tool, NULL,
                          "-connections takes 1 to 1000000, "
                          "-transfer-ms 1 to a day of them");
    return tool_check_devices(&s->tool, &v->devices);
}

static int
work(server *s)
{
    int result = check_usage(s);

    if (result == TOOL_GO_ON)
        result = tool_open_host(
            &s->tool, &s->values.devices,
            &(glow_host_options){.queue = (int)s->values.queue}, &s->host);
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
        .values = {.address = "127.0.0.1",
                   .port = 8000,
                   .threads = 2,
                   .queue = 200,
                   .batch = 1,
                   .batch_us = 2000,
                   .most_body = 64 << 20,
                   .sequences = 1000,
                   .sequence_idle_ms = 60000,
                   .connections = 1000,
                   .transfer_ms = 60000,
                   .end_ms = 60000,
                   .devices = {.backend = "cpu", .count = 1}},
    };
    sigset_t ends;
    int code;

    /* Threads inherit it: the signals are waited for by the first one. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_mutex_init(&s.lock, NULL);
    pthread_mutex_init(&s.loading, NULL);
    pthread_mutex_init(&s.sequences.lock, NULL);
    pthread_mutex_init(&s.connecting, NULL);
    code = tool_begin(&s.tool, &spec, &s.values, argc, argv);
    if (code == TOOL_GO_ON) {
        pthread_sigmask(SIG_BLOCK, &ends, NULL);
        signal(SIGPIPE, SIG_IGN);
        code = work(&s);
    }
    serve_sequences_end(&s, NULL);
    if (s.runs_on) /* which nothing can end */
        _Exit(tool_end(&s.tool, code));
    if (s.host)
        glow_host_free(s.host);
    pthread_mutex_destroy(&s.connecting);
    pthread_mutex_destroy(&s.sequences.lock);
    pthread_mutex_destroy(&s.loading);
    pthread_mutex_destroy(&s.lock);
    return tool_end(&s.tool, code);
}

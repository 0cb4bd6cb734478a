/*
 * Pipelined inference: runs a network in parts, each on its device, with several requests in
 * it at once, so that all devices work.
 *
 *     pipeline PARTS.gir COUNT DEVICE...
 *
 * PARTS.gir is what the pass `partition` wrote for devices of these names.  Sends COUNT
 * requests of zeros, WINDOW at most at a time, and prints how often each device ran.  The file
 * trace.json shows the runs of all devices along one axis of time, for Perfetto or
 * chrome://tracing.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glow/backend.h>
#include <glow/host.h>
#include <glow/tensor.h>

#include "report.h"

enum { WINDOW = 8 };

/* Adds a device of the backend cpu for each name, and the network in its parts. */
static glow_service *
add_all(glow_host *h, glow_context *ctx, const char *path, char **names,
        int count)
{
    const glow_backend *cpu = glow_find_backend(ctx, "cpu");

    for (int i = 0; i < count; i++)
        if (!glow_host_add_device(
                h, ctx, &glow_run_device_local,
                &(glow_run_device_options){.name = names[i], .backend = cpu}))
            return NULL;
    if (!glow_host_add(h, ctx,
                       &(glow_service_options){.name = "net", .path = path}))
        return NULL;
    return glow_host_find(h, "net");
}

/* Zeros for each input, which live until all requests have ended; their number. */
static int
make_inputs(glow_service *s, glow_input *in, int room)
{
    const glow_port *ports;
    int n = glow_service_ports(s, &ports), count = 0;

    for (int i = 0; i < n && count < room; i++) {
        void *zeros;

        if (!ports[i].read)
            continue;
        zeros = calloc(1, (size_t)ports[i].bytes);
        if (!zeros)
            abort();
        in[count++] = (glow_input){.name = ports[i].name,
                                   .data = zeros,
                                   .bytes = (size_t)ports[i].bytes};
    }
    return count;
}

/* Waits for a request; false, after a sentence, if it was not done.  NULL is fine. */
static bool
finish(glow_request *r)
{
    glow_report_text why;
    bool ok = !r || glow_fence_wait(glow_request_fence(r), INT64_MAX, &why) ==
                        GLOW_RUN_DONE;

    if (!ok)
        fprintf(stderr, "pipeline: %s: %s\n", glow_outcome_name(why.outcome),
                why.text);
    if (r)
        glow_request_release(r);
    return ok;
}

/* Runs `count` requests, of which WINDOW are in flight. */
static bool
run_all(glow_service *s, int count)
{
    glow_request *window[WINDOW] = {0};
    glow_input in[16];
    int n = make_inputs(s, in, 16);
    int64_t begin = glow_now();
    bool ok = true;

    for (int i = 0; i < count + WINDOW; i++) {
        ok &= finish(window[i % WINDOW]);
        window[i % WINDOW] =
            i < count ? glow_service_run(s, in, n, NULL) : NULL;
    }
    printf("%d requests in %.1f ms\n", count,
           (double)(glow_now() - begin) / 1e6);
    for (int i = 0; i < n; i++)
        free((void *)in[i].data);
    return ok;
}

/* Prints how often each device of `h` has run: the lines of one counter. */
static void
print_runs(glow_host *h)
{
    static const char counter[] = "glow_device_runs_total{";
    glow_buf b = {0};

    glow_host_metrics(h, &b);
    for (char *line = strtok(b.text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, counter, sizeof counter - 1) == 0)
            puts(line);
    glow_buf_free(&b);
}

/* Writes the trace of `h` to trace.json. */
static bool
write_trace(glow_host *h)
{
    glow_buf b = {0};
    FILE *f = fopen("trace.json", "w");
    bool ok = f;

    glow_host_trace(h, &b);
    if (f) {
        ok = fwrite(b.text, 1, b.len, f) == b.len;
        ok &= fclose(f) == 0;
    }
    if (!ok)
        perror("trace.json");
    glow_buf_free(&b);
    return ok;
}

int
main(int argc, char **argv)
{
    glow_context *ctx;
    glow_host *h;
    glow_service *s;
    bool ok;

    if (argc < 4 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: pipeline PARTS.gir COUNT DEVICE...\n");
        return 2;
    }
    ctx = glow_context_new();
    print_reports(ctx);
    h = glow_host_new(&(glow_host_options){.trace = true});
    s = add_all(h, ctx, argv[1], argv + 3, argc - 3);
    ok = s && run_all(s, atoi(argv[2])) && write_trace(h);
    print_runs(h);
    if (s)
        glow_service_release(s);
    glow_host_free(h);
    glow_context_free(ctx);
    return !ok;
}

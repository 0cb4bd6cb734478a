/*
 * Throughput of pipelines and batches of simulated devices, which sleep, so that nothing
 * here needs a free core.
 *
 *     pipeline [REQUESTS [MS]]
 *
 * A pipeline is a chain of parts, each of MS milliseconds (20) on a device of its own.
 * `gain` is its rate over that of one request at a time; `of ideal` the time of the
 * slowest stage for all requests (96) over the time that they took, filling and emptying
 * the pipeline included.  Copies take a quarter of a run in each direction.
 */

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glow/backend.h"
#include "glow/diag.h"
#include "glow/host.h"
#include "glow/plugin.h"

enum { ROW = 1024, MOST_STAGES = 3 };
#define MS 1000000

typedef struct setup {
    const char *what;
    int stages, batch;
    int active; /* requests at once */
    bool copies;
    bool is_base; /* the rate of which the gains below are multiples */
} setup;

static const setup setups[] = {
    {"2 devices, one request at a time", 2, 1, 1, false, true},
    {"2 devices, 4 requests", 2, 1, 4, false, false},
    {"3 devices, one request at a time", 3, 1, 1, false, true},
    {"3 devices, 4 requests", 3, 1, 4, false, false},
    {"3 devices, 6 requests", 3, 1, 6, false, false},
    {"2 devices and copies, one at a time", 2, 1, 1, true, true},
    {"2 devices and copies, 8 requests", 2, 1, 8, true, false},
    {"batches of 8, one request at a time", 1, 8, 1, false, true},
    {"batches of 8, 32 requests", 1, 8, 4, false, false},
};

static void
print_report(const glow_diag *d, void *user)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", d->id, d->message);
}

static void
check(bool ok)
{
    if (!ok)
        exit(1);
}

/* A chain of parts, or one network of batches. */
static void
write_network(const char *path, const setup *s)
{
    FILE *f = fopen(path, "w");

    check(f != NULL);
    fprintf(
        f,
        "gir 1\nplaceholder @x : float<%d x %d>\nplaceholder @y : float<%d x %d>\n",
        s->batch, ROW, s->batch, ROW);
    for (int i = 0; i < s->stages; i++)
        fprintf(
            f,
            "placeholder @i%d : float<%d x %d>\nplaceholder @o%d : float<%d x %d>\n"
            "function @part%d attributes {Inputs: [@i%d], Outputs: [@o%d]} {\n"
            "  %%a = Add(@i%d, @i%d) : float<%d x %d>\n  %%s = Save(%%a, @o%d)\n}\n",
            i, s->batch, ROW, i, s->batch, ROW, i, i, i, i, i, s->batch, ROW,
            i);
    fprintf(f, "function @main {\n");
    for (int i = 0; i < s->stages; i++) {
        char from[16] = "@x";

        if (i > 0)
            snprintf(from, sizeof from, "%%p%d", i - 1);
        fprintf(
            f,
            "  %%p%d = Run([%s]) {Body: @part%d, Device: \"d%d\"} : float<%d x %d>\n",
            i, from, i, i, s->batch, ROW);
    }
    fprintf(f, "  %%s = Save(%%p%d, @y)\n}\n", s->stages - 1);
    check(fclose(f) == 0);
}

static void
add_devices(glow_host *h, glow_context *ctx, const setup *s, int64_t run_ns)
{
    int64_t bytes = (int64_t)s->batch * ROW * 4;

    for (int i = 0; i < s->stages; i++) {
        static char names[MOST_STAGES][16];

        snprintf(names[i], sizeof names[i], "d%d", i);
        check(glow_host_add_device(
            h, ctx, &glow_run_device_sim,
            &(glow_run_device_options){
                .name = names[i],
                .backend = glow_find_backend(ctx, "interp"),
                .run_ns = run_ns,
                .copy_ps = s->copies ? run_ns * 1000 / 4 / bytes : 0,
            }));
    }
}

/* Each element of the result is that of the input, doubled by each stage. */
static void
check_result(glow_request *r, const setup *s, float v)
{
    glow_report_text why;
    size_t bytes;
    const float *y;

    if (glow_fence_wait(glow_request_fence(r), INT64_MAX, &why) !=
        GLOW_RUN_DONE) {
        fprintf(stderr, "%s: %s\n", glow_outcome_name(why.outcome), why.text);
        exit(1);
    }
    y = glow_request_output(r, "y", &bytes);
    for (int i = 0; i < ROW; i++)
        check(y[i] == v * (float)(1 << s->stages));
    glow_request_release(r);
}

/* Nanoseconds of `count` requests of one row each. */
static int64_t
time_requests(const setup *s, int count, int64_t run_ns)
{
    static float x[ROW];
    glow_request **r = calloc((size_t)count, sizeof *r);
    glow_context *ctx = glow_context_new();
    glow_host *h = glow_host_new(&(glow_host_options){.queue = count});
    int window = s->is_base ? 1 : count;
    glow_service *net;
    char path[64];
    int64_t took;

    check(r != NULL);
    snprintf(path, sizeof path, "/tmp/glow-pipeline-%d.gir", (int)getpid());
    write_network(path, s);
    glow_context_set_sink(ctx, print_report, NULL);
    add_devices(h, ctx, s, run_ns);
    check(glow_host_add(h, ctx,
                        &(glow_service_options){
                            .name = "net",
                            .path = path,
                            .active = s->active,
                            .batch = s->batch,
                            .batch_ns = s->is_base ? 0 : 2 * run_ns,
                        }));
    net = glow_host_find(h, "net");
    took = glow_now();
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < ROW; k++)
            x[k] = (float)i;
        r[i] = glow_service_run(
            net, &(glow_input){.name = "x", .data = x, .bytes = sizeof x}, 1,
            NULL);
        if (window == 1)
            check_result(r[i], s, (float)i);
    }
    for (int i = 0; i < count && window > 1; i++)
        check_result(r[i], s, (float)i);
    took = glow_now() - took;
    glow_service_release(net);
    glow_host_free(h);
    glow_context_free(ctx);
    unlink(path);
    free(r);
    return took;
}

int
main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 96;
    int64_t run_ns = (argc > 2 ? atoi(argv[2]) : 20) * (int64_t)MS;
    double base = 0;

    check(count > 0 && run_ns > 0);
    printf("%-38s %10s %8s %10s\n", "", "requests/s", "gain", "of ideal");
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
        const setup *s = &setups[i];
        int n = s->is_base ? (count + 3) / 4 : count;
        double seconds = (double)time_requests(s, n, run_ns) * 1e-9,
               rate = n / seconds;
        double ideal = (n + s->batch - 1) / s->batch * (double)run_ns * 1e-9;

        if (s->is_base) {
            base = rate;
            printf("%-38s %10.1f\n", s->what, rate);
        } else {
            printf("%-38s %10.1f %8.2f %10.3f\n", s->what, rate, rate / base,
                   ideal / seconds);
        }
        fflush(stdout);
    }
    return 0;
}

/*
 * Rate and delay of batches on a device that takes a + b n for n samples, by the clock:
 *
 *     batch N A_US B_US WAIT_US SECONDS NET.gir...
 *
 * Each NET takes @x, whose rows are samples; they are the sizes of one service, of which the
 * largest has N.  Prints the samples a second with requests of one sample for four batches
 * outstanding, and their share of the ideal, N every a + b N; the share that a loop reaches
 * which sleeps for that time, since a busy machine wakes late; the share of requests of 1 to 2 N
 * samples, eight outstanding; then the mean and the greatest time of a request of one sample
 * alone, of which WAIT_US is the wait for others.  Rates are the greatest of five rounds in
 * turn.
 */

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "glow/backend.h"
#include "glow/glow.h"
#include "glow/host.h"

static glow_service *service;
static sem_t free_places;
static glow_backend backend; /* that takes its time */
static bool (*run_at_once)(glow_executable *x, const glow_binding *bindings,
                           int count);
static int64_t fixed_ns, sample_ns;

static void
sleep_for(int64_t ns)
{
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

static bool
run_slowly(glow_executable *x, const glow_binding *bindings, int count)
{
    sleep_for(fixed_ns + sample_ns * bindings[0].tensor->type->shape.at[0]);
    return run_at_once(x, bindings, count);
}

static void
ended(void *user, glow_request *r)
{
    (void)user, (void)r;
    sem_post(&free_places);
}

static glow_request *
ask(const void *row, size_t bytes, void (*then)(void *user, glow_request *r))
{
    const glow_input in = {.name = "x", .data = row, .bytes = bytes};

    return glow_service_run(service, &in, 1,
                            &(glow_request_options){.then = then});
}

/* Samples a second of requests of 1 to `most` samples, `places` of them outstanding. */
static double
rate(const void *rows, size_t bytes, int most, int places, double seconds)
{
    int64_t begin, now, until, count = 0;
    unsigned seed = 1;

    sem_init(&free_places, 0, (unsigned)places);
    begin = now = glow_now();
    for (until = begin + (int64_t)(seconds * 1e9); now < until;
         now = glow_now()) {
        unsigned n = 1 + (seed >> 16) % (unsigned)most;

        seed = seed * 1103515245 + 12345;
        sem_wait(&free_places);
        glow_request_release(ask(rows, n * bytes, ended));
        count += n;
    }
    for (int i = 0; i < places; i++)
        sem_wait(&free_places);
    return (double)count / ((double)(glow_now() - begin) / 1e9);
}

/* Sleeps of `ns` a second. */
static double
sleeps(int64_t ns, double seconds)
{
    int64_t begin = glow_now(), now = begin;
    int count = 0;

    for (; now < begin + (int64_t)(seconds * 1e9); now = glow_now()) {
        sleep_for(ns);
        count++;
    }
    return count / ((double)(now - begin) / 1e9);
}

/* The mean time of requests alone, in ms, and the greatest. */
static double
delay(const void *row, size_t bytes, int n, double *most)
{
    double sum = 0;

    *most = 0;
    for (int i = 0; i < n; i++) {
        int64_t begin = glow_now();
        glow_request *r = ask(row, bytes, NULL);
        double ms;

        if (glow_fence_wait(glow_request_fence(r), INT64_MAX, NULL) !=
            GLOW_RUN_DONE)
            exit(1);
        ms = (double)(glow_now() - begin) / 1e6;
        sum += ms;
        *most = ms > *most ? ms : *most;
        glow_request_release(r);
    }
    return sum / n;
}

static void
print(const void *row, size_t bytes, int n, double seconds)
{
    int64_t run = fixed_ns + sample_ns * n;
    double ideal = n / ((double)run / 1e9), got = 0, drawn = 0, bare = 0, most,
           mean;

    for (int i = 0; i < 5; i++) {
        double a = rate(row, bytes, 1, 4 * n, seconds / 15);
        double b = n * sleeps(run, seconds / 15);
        double c = rate(row, bytes, 2 * n, 8, seconds / 15);

        got = a > got ? a : got;
        bare = b > bare ? b : bare;
        drawn = c > drawn ? c : drawn;
    }
    mean = delay(row, bytes, 50, &most);
    printf(
        "%.0f samples/s, %.3f of the ideal, sleeping %.3f, drawn %.3f; alone %.2f ms, at "
        "most %.2f\n",
        got, got / ideal, bare / ideal, drawn / ideal, mean, most);
}

int
main(int argc, char **argv)
{
    glow_context *ctx = glow_context_new();
    glow_host *host = glow_host_new(NULL);
    const glow_run_device_options device = {.name = "d", .backend = &backend};
    glow_service_options net = {.name = "net"};
    const glow_port *ports;
    size_t bytes;
    char *rows;

    if (argc < 7)
        return 2;
    net.batch = atoi(argv[1]);
    fixed_ns = 1000 * atoll(argv[2]);
    sample_ns = 1000 * atoll(argv[3]);
    net.batch_ns = 1000 * atoll(argv[4]);
    net.path = argv[6];
    net.sizes = (const char *const *)argv + 7;
    net.n_sizes = argc - 7;
    backend = *glow_find_backend(ctx, "interp");
    run_at_once = backend.run;
    backend.run = run_slowly;
    if (!glow_host_add_device(host, ctx, &glow_run_device_sim, &device) ||
        !glow_host_add(host, ctx, &net))
        return 1;
    service = glow_host_find(host, "net");
    glow_service_ports(service, &ports);
    bytes = (size_t)(ports[0].bytes / net.batch);
    rows = calloc(2 * (size_t)net.batch, bytes);
    print(rows, bytes, net.batch, atof(argv[5]));
    free(rows);
    glow_service_release(service);
    glow_host_free(host);
    glow_context_free(ctx);
    return 0;
}

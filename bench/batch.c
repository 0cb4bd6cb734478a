/*
 * Rate and delay of batches on a device that takes a + b n for n samples, by the clock:
 *
 *     batch NET.gir SAMPLES RUN_US WAIT_US SECONDS
 *
 * NET takes @x, of SAMPLES rows, and RUN_US is a + b SAMPLES, since a batch is padded.
 * Prints the samples a second with four batches of requests of one sample outstanding,
 * and their share of the ideal, SAMPLES every RUN_US; the share that a loop reaches which
 * sleeps for RUN_US, since a busy machine wakes late; then the greatest and the mean time
 * of a request alone, of which WAIT_US is the wait for others.  Rates are the greatest of
 * five rounds in turn.
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

    return glow_service_run(service, &in, 1, &(glow_request_options){.then = then});
}

static double
rate(const void *row, size_t bytes, int samples, double seconds)
{
    int64_t begin, now, until;
    int count = 0;

    sem_init(&free_places, 0, 4 * (unsigned)samples);
    begin = now = glow_now();
    for (until = begin + (int64_t)(seconds * 1e9); now < until; now = glow_now()) {
        sem_wait(&free_places);
        glow_request_release(ask(row, bytes, ended));
        count++;
    }
    for (int i = 0; i < 4 * samples; i++)
        sem_wait(&free_places);
    return count / ((double)(glow_now() - begin) / 1e9);
}

/* Sleeps of `ns` a second. */
static double
sleeps(int64_t ns, double seconds)
{
    const struct timespec t = {ns / 1000000000, ns % 1000000000};
    int64_t begin = glow_now(), now = begin;
    int count = 0;

    for (; now < begin + (int64_t)(seconds * 1e9); now = glow_now()) {
        nanosleep(&t, NULL);
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

        if (glow_fence_wait(glow_request_fence(r), INT64_MAX, NULL) != GLOW_RUN_DONE)
            exit(1);
        ms = (double)(glow_now() - begin) / 1e6;
        sum += ms;
        *most = ms > *most ? ms : *most;
        glow_request_release(r);
    }
    return sum / n;
}

int
main(int argc, char **argv)
{
    glow_context *ctx = glow_context_new();
    glow_host *host = glow_host_new(NULL);
    glow_run_device_options device = {.name = "d"};
    glow_service_options net = {.name = "net"};
    const glow_port *ports;
    double got = 0, bare = 0, most, mean, ideal;
    size_t bytes;
    char *row;

    if (argc != 6)
        return 2;
    net.path = argv[1];
    net.batch = atoi(argv[2]);
    net.batch_ns = 1000 * atoll(argv[4]);
    device.run_ns = 1000 * atoll(argv[3]);
    device.backend = glow_find_backend(ctx, "interp");
    if (!glow_host_add_device(host, ctx, &glow_run_device_sim, &device) ||
        !glow_host_add(host, ctx, &net))
        return 1;
    service = glow_host_find(host, "net");
    glow_service_ports(service, &ports);
    bytes = (size_t)(ports[0].bytes / net.batch);
    row = calloc(1, bytes);
    ideal = net.batch / ((double)device.run_ns / 1e9);
    for (int i = 0; i < 5; i++) {
        double a = rate(row, bytes, net.batch, atof(argv[5]) / 10);
        double b = net.batch * sleeps(device.run_ns, atof(argv[5]) / 10);

        got = a > got ? a : got;
        bare = b > bare ? b : bare;
    }
    mean = delay(row, bytes, 50, &most);
    printf("%.0f samples/s, %.3f of the ideal, and sleeping %.3f; alone %.2f ms, at most "
           "%.2f\n", got, got / ideal, bare / ideal, mean, most);
    free(row);
    glow_service_release(service);
    glow_host_free(host);
    glow_context_free(ctx);
    return 0;
}

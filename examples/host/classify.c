/*
 * Batched inference: classifies pictures by one network that is there for several numbers of
 * samples, and counts how many are right.
 *
 *     classify IMAGES.npy LABELS.npy NETWORK.gir...
 *
 * IMAGES are floats, of any number of images along the first axis, LABELS integers of 64
 * bits.  Each NETWORK is the same but for the first axis of its placeholders, `image` and
 * `probability`.  Requests of 1 to MOST images are in flight at once; the host puts them
 * together to batches.  The images are counted behind the fence of each request.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glow/backend.h>
#include <glow/host.h>

#include "report.h"

enum { MOST = 20, DEADLINE_S = 30, DEVICES = 2 };

/* An array of an .npy file: its data behind a header, whose size is in the file. */
typedef struct array {
    char *file, *data;
    size_t bytes;
} array;

/* One request. */
typedef struct job {
    const int64_t *labels;
    int count;
} job;

/* Reads the file `path`, an .npy of version 1; exits if that fails. */
static array
read_array(const char *path)
{
    FILE *f = fopen(path, "rb");
    unsigned char begin[10];
    array a = {0};
    size_t header, size = 0, room = 1 << 16;

    if (!f || fread(begin, 1, sizeof begin, f) != sizeof begin ||
        memcmp(begin, "\x93NUMPY\1", 7) != 0) {
        fprintf(stderr, "classify: %s is no .npy file of version 1\n", path);
        exit(1);
    }
    header = begin[8] | (size_t)begin[9] << 8;
    for (;;) {
        a.file = realloc(a.file, room);
        if (!a.file)
            abort();
        size += fread(a.file + size, 1, room - size, f);
        if (size < room)
            break;
        room *= 2;
    }
    fclose(f);
    if (size < header) {
        fprintf(stderr, "classify: %s ends in its header\n", path);
        exit(1);
    }
    a.data = a.file + header;
    a.bytes = size - header;
    return a;
}

/* The images of a request whose greatest output is that of their label. */
static int
count_right(const job *j, const glow_request *r)
{
    size_t bytes;
    const float *p = glow_request_output(r, "probability", &bytes);
    size_t classes = p ? bytes / sizeof *p / (size_t)j->count : 0;
    int right = 0;

    for (int i = 0; p && i < j->count; i++) {
        size_t best = 0;

        for (size_t k = 1; k < classes; k++)
            if (p[(size_t)i * classes + k] > p[(size_t)i * classes + best])
                best = k;
        right += (int64_t)best == j->labels[i];
    }
    return right;
}

/* Adds devices of the backend cpu, and the network on all of them. */
static glow_service *
add_all(glow_host *h, glow_context *ctx, char **paths, int count)
{
    static const char *const names[DEVICES] = {"cpu0", "cpu1"};
    const glow_backend *cpu = glow_find_backend(ctx, "cpu");

    for (int i = 0; i < DEVICES; i++)
        if (!glow_host_add_device(
                h, ctx, &glow_run_device_local,
                &(glow_run_device_options){.name = names[i], .backend = cpu}))
            return NULL;
    if (!glow_host_add(
            h, ctx,
            &(glow_service_options){
                .name = "digits",
                .path = paths[0],
                .sizes = (const char *const *)paths + 1,
                .n_sizes = count - 1,
                .batch_ns = 1000000, /* a request waits for others, at most */
            }))
        return NULL;
    return glow_host_find(h, "digits");
}

/* Sends all images in requests of 1, 2, ... MOST, 1, ... images; the number of requests. */
static int
send(glow_service *s, const array *images, const array *labels, size_t n,
     job *jobs, glow_request **requests)
{
    size_t one = images->bytes / n, at = 0;
    int count = 0;

    while (at < n) {
        size_t next = (size_t)(count % MOST) + 1;

        if (next > n - at)
            next = n - at;
        jobs[count] = (job){(const int64_t *)labels->data + at, (int)next};
        requests[count] = glow_service_run(
            s,
            &(glow_input){.name = "image",
                          .data = images->data + at * one,
                          .bytes = next * one},
            1,
            &(glow_request_options){
                .deadline = glow_now() + DEADLINE_S * INT64_C(1000000000)});
        count++;
        at += next;
    }
    return count;
}

/* Waits for all requests and counts `right`; false, after a sentence, if one was not done. */
static bool
wait_for(glow_request **requests, const job *jobs, int count, int *right)
{
    bool ok = true;

    for (int i = 0; i < count; i++) {
        glow_report_text why;

        if (glow_fence_wait(glow_request_fence(requests[i]), INT64_MAX, &why) !=
            GLOW_RUN_DONE) {
            fprintf(stderr, "classify: request %d: %s: %s\n", i,
                    glow_outcome_name(why.outcome), why.text);
            ok = false;
        }
        *right += count_right(&jobs[i], requests[i]);
        glow_request_release(requests[i]);
    }
    return ok;
}

/* Prints how many batches of each size have run. */
static void
print_sizes(glow_service *s)
{
    glow_service_size sizes[16];
    int n = glow_service_sizes(s, sizes, 16);

    for (int i = 0; i < n && i < 16; i++)
        printf("%lld batches of %d\n", (long long)sizes[i].batches,
               sizes[i].samples);
}

int
main(int argc, char **argv)
{
    glow_context *ctx;
    glow_host *h;
    glow_service *s;
    bool ok;

    if (argc < 4) {
        fprintf(stderr,
                "usage: classify IMAGES.npy LABELS.npy NETWORK.gir...\n");
        return 2;
    }
    ctx = glow_context_new();
    print_reports(ctx);
    h = glow_host_new(&(glow_host_options){.queue = 1000});
    s = add_all(h, ctx, argv + 3, argc - 3);
    ok = s;
    if (ok) {
        array images = read_array(argv[1]), labels = read_array(argv[2]);
        size_t n = labels.bytes / sizeof(int64_t);
        job *jobs = calloc(n, sizeof *jobs);
        glow_request **requests = calloc(n, sizeof(glow_request *));
        int right = 0;

        if (!jobs || !requests)
            abort();
        int count = send(s, &images, &labels, n, jobs, requests);

        ok = wait_for(requests, jobs, count, &right);
        print_sizes(s);
        printf("%d of %zu right\n", right, n);
        free(requests);
        free(jobs);
        free(images.file);
        free(labels.file);
        glow_service_release(s);
    }
    glow_host_free(h);
    glow_context_free(ctx);
    return !ok;
}

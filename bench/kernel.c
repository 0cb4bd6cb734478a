/*
 * Times the function of a bundle, in a shared library, beside what the core
 * can do.
 *
 *     kernel KIND LIBRARY NAME WEIGHTS PLACEHOLDERS ACTIVATIONS ROUNDS
 *
 * KIND is `float` or `int8`, of inputs and of the burst.  WEIGHTS is the file of the
 * constants, because code may take another way for other numbers, such as offsets that
 * are not 0.  Sizes are in bytes.  Inputs are drawn: floats from [-1, 1), or any bytes.
 * A round is bursts of multiplications and additions in registers, calls with the same
 * constants (warm), and calls that go around copies of the constants, one behind the
 * other, more than caches hold (cold).  Time is that of the thread, and a figure
 * the best of all calls: whoever shares the core can only take from it.  Prints
 * one line of JSON: GFLOP/s (or GOP/s) of a burst, GB/s of reading memory, microseconds.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "burst.h"

enum { TURNS = 20000, MOST_COPIES = 4096, HUGE_PAGE = 2 << 20 };

static const size_t cold_bytes = (size_t)256 << 20;
static const size_t stream_bytes = (size_t)64 << 20;
static const double slice = 3e-3; /* seconds of each kind of calls in a round */
static const double sample = 5e-5; /* the shortest time that is measured */

typedef int (*entry_fn)(const uint8_t *constants, uint8_t *placeholders,
                        uint8_t *activations);

typedef struct bench {
    entry_fn entry;
    size_t constants, placeholders, activations;
    size_t copies, next;
    bool is_int8;
    uint8_t *at[3];
} bench;

/* GB/s of reading memory that no cache holds. */
static double
stream(const uint8_t *p, size_t size)
{
    static volatile float sink;
    vector sum[4] = {{0}};
    double t = now();

    for (size_t i = 0; i + 4 * WIDTH <= size; i += 4 * WIDTH)
        for (int k = 0; k < 4; k++)
            sum[k] += *(const vector *)(p + i + (size_t)k * WIDTH);
    t = now() - t;
    sink = sum[0][0] + sum[1][0] + sum[2][0] + sum[3][0];
    (void)sink;
    return (double)size / t * 1e-9;
}

static uint8_t *
room(size_t size)
{
    size = (size + 2 * HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE;

    uint8_t *p = aligned_alloc(HUGE_PAGE, size);

    if (!p) {
        fprintf(stderr, "kernel: no memory\n");
        exit(1);
    }
    madvise(p, size, MADV_HUGEPAGE);
    return p;
}

static void
draw(uint8_t *p, size_t size, bool is_int8)
{
    static uint32_t state = 12345;

    for (size_t i = 0; i + sizeof(float) <= size; i += sizeof(float)) {
        state = state * 1664525u + 1013904223u;

        uint32_t bytes = state ^ state >> 16;
        float x = (float)(state >> 8) / (float)(1 << 23) - 1.0f;

        memcpy(p + i, is_int8 ? (void *)&bytes : (void *)&x, sizeof(x));
    }
}

/* The bytes of a file, and their count in *size. */
static uint8_t *
contents(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *p;
    long end;

    if (!f || fseek(f, 0, SEEK_END) || (end = ftell(f)) < 0) {
        perror(path);
        exit(1);
    }
    *size = (size_t)end;
    rewind(f);
    p = room(*size);
    if (fread(p, 1, *size, f) != *size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return p;
}

static void
prepare(bench *b, const char *weights)
{
    uint8_t *from = contents(weights, &b->constants);
    size_t all;

    b->copies = b->constants ? cold_bytes / b->constants : 1;
    if (b->copies < 1)
        b->copies = 1;
    if (b->copies > MOST_COPIES)
        b->copies = MOST_COPIES;
    all = b->constants * b->copies;
    b->at[0] = room(all > cold_bytes ? all : cold_bytes);
    b->at[1] = room(b->placeholders);
    b->at[2] = room(b->activations);
    memcpy(b->at[0], from, b->constants);
    free(from);
    draw(b->at[1], b->placeholders, b->is_int8);
    memset(b->at[2], 0, b->activations);
    for (size_t i = 1; i < b->copies; i++)
        memcpy(b->at[0] + i * b->constants, b->at[0], b->constants);
    if (all < cold_bytes)
        memset(b->at[0] + all, 0, cold_bytes - all);
}

/* Seconds of a call, of the fastest of several rows of them, or `best`. */
static double
calls(bench *b, int cold, double best)
{
    for (double spent = 0; spent < slice;) {
        double begin = now(), took = 0;
        int n = 0;

        for (; took < sample; n++) {
            size_t at = cold ? b->next++ % b->copies : 0;

            b->entry(b->at[0] + at * b->constants, b->at[1], b->at[2]);
            took = now() - begin;
        }
        spent += took;
        best = took / n < best ? took / n : best;
    }
    return best;
}

/* GOP/s in registers, of the fastest of several bursts, or `best`. */
static double
bursts(bool is_int8, double best)
{
    for (double end = now() + slice; now() < end;) {
        double rate =
            is_int8 ? burst_of_integers(TURNS) : burst_of_floats(TURNS);

        best = rate > best ? rate : best;
    }
    return best;
}

int
main(int argc, char **argv)
{
    double warm = 1e9, cold = 1e9, peak = 0, memory = 0;
    bench b = {0};

    if (argc != 8) {
        fprintf(stderr, "usage: kernel KIND LIBRARY NAME WEIGHTS "
                        "PLACEHOLDERS ACTIVATIONS ROUNDS\n");
        return 1;
    }

    void *library = dlopen(argv[2], RTLD_NOW);
    int rounds = atoi(argv[7]);

    if (library)
        *(void **)&b.entry = dlsym(library, argv[3]);
    if (!b.entry) {
        fprintf(stderr, "kernel: %s\n", dlerror());
        return 1;
    }
    b.is_int8 = !strcmp(argv[1], "int8");
    b.placeholders = strtoull(argv[5], NULL, 10);
    b.activations = strtoull(argv[6], NULL, 10);
    prepare(&b, argv[4]);
    calls(&b, 0, 1e9);
    for (int i = 0; i < rounds; i++) {
        double rate;

        peak = bursts(b.is_int8, peak);
        warm = calls(&b, 0, warm);
        cold = calls(&b, 1, cold);
        rate = stream(b.at[0] + (size_t)(i % 4) * stream_bytes, stream_bytes);
        memory = rate > memory ? rate : memory;
    }
    printf("{\"peak\": %.1f, \"memory\": %.1f, \"warm_us\": %.2f, "
           "\"cold_us\": %.2f}\n",
           peak, memory, warm * 1e6, cold * 1e6);
    return 0;
}

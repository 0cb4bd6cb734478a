/*
 * What one core can do at most: multiply-adds of float, and bytes read.
 *
 *     peak BYTES
 *
 * Arithmetic is that of independent accumulators in registers; what is read is a
 * buffer of BYTES, over and over, so that it comes from the cache or memory that
 * holds as much.  Each figure is the best of several rounds.  Prints one JSON
 * object.  Compile with -O3 -march=native.
 */

#define _GNU_SOURCE

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__AVX512F__)
enum { VECTOR = 64 };
#elif defined(__AVX__)
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif

typedef float vec __attribute__((vector_size(VECTOR)));

/* More than any core's units times its latency, fewer than its registers. */
enum { ACCUMULATORS = 12, TURNS = 1 << 20, ROUNDS = 20 };

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of all turns; the sum keeps the compiler from leaving them out. */
static double
multiply_add(float *sum)
{
    vec acc[ACCUMULATORS] = {0}, a = {0}, b = {0};
    double begin;

    a += 0.5f;
    b += 1e-9f;
    /* No two alike, or the compiler computes them once. */
    for (int i = 0; i < ACCUMULATORS; i++)
        acc[i] += (float)i;
    begin = now();
    for (int t = 0; t < TURNS; t++) {
#pragma GCC unroll 16
        for (int i = 0; i < ACCUMULATORS; i++)
            acc[i] = acc[i] * a + b;
    }
    begin = now() - begin;
    for (int i = 0; i < ACCUMULATORS; i++)
        *sum += acc[i][0];
    return begin;
}

static double
read_all(const vec *from, size_t count, float *sum)
{
    vec acc[8] = {0};
    double begin = now();

    for (size_t i = 0; i + 8 <= count; i += 8)
#pragma GCC unroll 8
        for (size_t k = 0; k < 8; k++)
            acc[k] += from[i + k];
    begin = now() - begin;
    for (int k = 0; k < 8; k++)
        *sum += acc[k][0];
    return begin;
}

int
main(int argc, char **argv)
{
    size_t bytes = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
    size_t count = bytes / VECTOR / 8 * 8;
    /* Small buffers are read often enough for the clock. */
    size_t repeat = count ? ((size_t)1 << 27) / (count * VECTOR) + 1 : 0;
    double arithmetic = 1e9, reading = 1e9;
    float sum = 0;

    if (!count) {
        fprintf(stderr, "usage: peak BYTES\n");
        return 2;
    }

    vec *from = aligned_alloc(4096, (count * VECTOR + 4095) / 4096 * 4096);

    if (!from)
        abort();
    memset(from, 1, count * VECTOR);
    for (int r = 0; r < ROUNDS; r++) {
        double seconds = multiply_add(&sum), spent = 0;

        for (size_t i = 0; i < repeat; i++)
            spent += read_all(from, count, &sum);
        arithmetic = seconds < arithmetic ? seconds : arithmetic;
        reading = spent < reading ? spent : reading;
    }
    printf("{\"gflops\": %.1f, \"gbytes\": %.1f}\n",
           2e-9 * TURNS * ACCUMULATORS * (VECTOR / sizeof(float)) / arithmetic,
           1e-9 * (double)(repeat * count * VECTOR) / reading);
    return sum == 42;
}

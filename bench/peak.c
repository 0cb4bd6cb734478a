/*
 * Peak rates of one core: multiply-adds of float and of 8 bits, and bytes read.
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

#include "burst.h"

enum { TURNS = 1 << 20, ROUNDS = 20 };

static double
read_all(const vector *from, size_t count, float *sum)
{
    vector acc[8] = {0};
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
    size_t count = bytes / WIDTH / 8 * 8;
    /* Small buffers are read often enough for the clock. */
    size_t repeat = count ? ((size_t)1 << 27) / (count * WIDTH) + 1 : 0;
    double floats = 0, integers = 0, reading = 1e9;
    float sum = 0;

    if (!count) {
        fprintf(stderr, "usage: peak BYTES\n");
        return 2;
    }

    vector *from = aligned_alloc(4096, (count * WIDTH + 4095) / 4096 * 4096);

    if (!from)
        abort();
    memset(from, 1, count * WIDTH);
    for (int r = 0; r < ROUNDS; r++) {
        double rate = burst_of_floats(TURNS), spent = 0;

        floats = rate > floats ? rate : floats;
        rate = burst_of_integers(TURNS);
        integers = rate > integers ? rate : integers;
        for (size_t i = 0; i < repeat; i++)
            spent += read_all(from, count, &sum);
        reading = spent < reading ? spent : reading;
    }
    printf("{\"gflops\": %.1f, \"int8_gops\": %.1f, \"gbytes\": %.1f}\n",
           floats, integers, 1e-9 * (double)(repeat * count * WIDTH) / reading);
    return sum == 42;
}

/*
 * Read bandwidth of a core: GB/s of a loop that reads 512 MiB with four independent
 * sums of vectors, of the fastest 64 MiB of 8 rounds, or of as many as the argument says:
 * on a shared machine a whole round is hardly ever undisturbed.
 *
 *     cc -O3 -march=native bench/read.c -o read && ./read
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint64_t vector __attribute__((vector_size(64)));

enum { SUMS = 4, PIECES = 8 };

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int
main(int argc, char **argv)
{
    size_t bytes = (size_t)512 << 20, count = bytes / sizeof(vector);
    int rounds = argc > 1 ? atoi(argv[1]) : 8;
    vector *at = aligned_alloc(1 << 21, bytes), sum[SUMS] = {{0}};
    double best = 0;

    if (!at)
        return 1;
    memset(at, 1, bytes);
    for (int r = 0; r < rounds * PIECES; r++) {
        const vector *from = at + count / PIECES * (size_t)(r % PIECES);
        double start = now(), rate;

        for (size_t i = 0; i < count / PIECES; i += SUMS)
            for (int k = 0; k < SUMS; k++)
                sum[k] |= from[i + (size_t)k];
        rate = (double)bytes / PIECES / (now() - start) * 1e-9;
        if (rate > best)
            best = rate;
    }
    for (int k = 1; k < SUMS; k++)
        sum[0] |= sum[k];
    printf("%.2f\n", best);
    return sum[0][0] == 0; /* so that the loads count */
}

/*
 * Runs a bundle on 2^-130 everywhere, alone and with each part in a thread of its
 * own, and prints the largest result by 2^-130, and whether this thread still
 * multiplies subnormal numbers.
 */

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

static _Alignas(NET_ALIGN) uint8_t constants[NET_CONSTANTS_SIZE + 1];
static _Alignas(NET_ALIGN) uint8_t placeholders[NET_PLACEHOLDERS_SIZE + 1];
static _Alignas(NET_ALIGN) uint8_t activations[NET_ACTIVATIONS_SIZE + 1];

typedef struct call {
    net_part part;
    void *work;
    uintptr_t number;
} call;

static void *
run_call(void *user)
{
    call *c = user;

    c->part(c->work, c->number);
    return NULL;
}

static void
in_threads(void *pool, net_part part, void *work, uintptr_t parts)
{
    *(uintptr_t *)pool += parts;
    for (uintptr_t i = 0; i < parts; i++) {
        call c = {part, work, i};
        pthread_t thread;

        if (pthread_create(&thread, NULL, run_call, &c) == 0)
            pthread_join(thread, NULL);
    }
}

static int
run(net_parallel parallel, void *pool)
{
    const float unit = ldexpf(1, -130);
    volatile float before = unit, after;
    float y, most = 0;

    for (size_t i = 0; i < NET_X_SIZE / sizeof unit; i++)
        memcpy(placeholders + NET_X_OFFSET + i * sizeof unit, &unit,
               sizeof unit);
    memset(placeholders + NET_Y_OFFSET, 0, NET_Y_SIZE);
    if (net(constants, placeholders, activations, parallel, pool))
        return 2;
    after = before * 0.5f;
    for (size_t i = 0; i < NET_Y_SIZE / sizeof y; i++) {
        memcpy(&y, placeholders + NET_Y_OFFSET + i * sizeof y, sizeof y);
        most = y > most ? y : most;
    }
    printf("%g, then %g\n", (double)ldexpf(most, 130),
           (double)ldexpf(after, 130));
    return 0;
}

int
main(void)
{
    uintptr_t parts = 0;

    if (run(NULL, NULL) || run(in_threads, &parts))
        return 1;
    printf("%s parts\n", parts > 1 ? "several" : "no");
    return 0;
}

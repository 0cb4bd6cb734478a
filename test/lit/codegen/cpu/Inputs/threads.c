/*
 * Runs a bundle alone and with threads of its own, and says whether both give
 * the same bits; and whether more than one thread took part.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

static _Alignas(NET_ALIGN) uint8_t constants[NET_CONSTANTS_SIZE + 1];
static _Alignas(NET_ALIGN) uint8_t placeholders[NET_PLACEHOLDERS_SIZE + 1];
static _Alignas(NET_ALIGN) uint8_t activations[NET_ACTIVATIONS_SIZE + 1];

typedef struct share {
    net_part part;
    void *work;
    uintptr_t first, end;
} share;

static void *
run_share(void *user)
{
    share *s = user;

    /* The last first: the order must not matter. */
    for (uintptr_t i = s->end; i > s->first; i--)
        s->part(s->work, i - 1);
    return NULL;
}

static void
in_two_threads(void *pool, net_part part, void *work, uintptr_t parts)
{
    share half[2] = {{part, work, 0, parts / 2},
                     {part, work, parts / 2, parts}};
    pthread_t other;

    ++*(int *)pool;
    if (pthread_create(&other, NULL, run_share, &half[1]))
        return;
    run_share(&half[0]);
    pthread_join(other, NULL);
}

int
main(int argc, char **argv)
{
    static uint8_t alone[NET_Y_SIZE];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    int jobs = 0;

    if (!f || fread(constants, 1, NET_CONSTANTS_SIZE, f) != NET_CONSTANTS_SIZE)
        return 1;
    fclose(f);
    for (size_t i = 0; i < NET_X_SIZE / sizeof(float); i++) {
        float x = (float)(i % 97) / 97.0f - 0.3f;

        memcpy(placeholders + NET_X_OFFSET + i * sizeof x, &x, sizeof x);
    }
    if (net(constants, placeholders, activations, NULL, NULL))
        return 2;
    memcpy(alone, placeholders + NET_Y_OFFSET, NET_Y_SIZE);
    memset(placeholders + NET_Y_OFFSET, 0xff, NET_Y_SIZE);
    if (net(constants, placeholders, activations, in_two_threads, &jobs))
        return 2;
    printf("%s bits, %s split\n",
           memcmp(alone, placeholders + NET_Y_OFFSET, NET_Y_SIZE) ? "other"
                                                                  : "the same",
           jobs ? "work was" : "nothing was");
    return 0;
}

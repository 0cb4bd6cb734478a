/* Runs a bundle whose activations are in two memories apart, between guard bytes. */

#include <stdio.h>
#include <string.h>

#include "net.h"

enum { GUARD = 64, FILL = 0x5a };

extern const uint8_t net_weights[];

static uint8_t io[NET_PLACEHOLDERS_SIZE + 2 * GUARD]
    __attribute__((aligned(64)));
static uint8_t sram[NET_SRAM_MEMORY_SIZE + 2 * GUARD]
    __attribute__((aligned(64)));
static uint8_t tcm[NET_ACTIVATIONS_SIZE + 2 * GUARD]
    __attribute__((aligned(64)));

static int
is_whole(const uint8_t *memory, size_t size)
{
    for (int i = 0; i < GUARD; i++)
        if (memory[i] != FILL || memory[size - GUARD + (size_t)i] != FILL)
            return 0;
    return 1;
}

int
main(void)
{
    memset(io, FILL, sizeof io);
    memset(tcm, FILL, sizeof tcm);
    memset(sram, FILL, sizeof sram);
    for (int i = 0; i < NET_X_COUNT; i++) {
        NET_X_TYPE x = (NET_X_TYPE)i / NET_X_COUNT;

        memcpy(io + GUARD + NET_X_OFFSET + (size_t)i * sizeof x, &x, sizeof x);
    }
    if (net(net_weights, io + GUARD, tcm + GUARD, sram + GUARD) != 0)
        return 1;
    printf("guards %s\n", is_whole(io, sizeof io) &&
                                  is_whole(tcm, sizeof tcm) &&
                                  is_whole(sram, sizeof sram)
                              ? "whole"
                              : "written");
    printf("y =");
    for (int i = 0; i < 4; i++) {
        NET_Y_TYPE y;

        memcpy(&y, io + GUARD + NET_Y_OFFSET + (size_t)i * sizeof y, sizeof y);
        printf(" %g", (double)y);
    }
    printf("\n");
    return 0;
}

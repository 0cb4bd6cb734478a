/*
 * Runs the bundle `net` in blocks of memory of exactly its sizes, of which only
 * @x and the constants are defined, and writes @y.  SHORT takes bytes off the
 * activations or placeholders; IDLE does not run it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net.h"

#ifndef SHORT
#define SHORT 0
#endif

static uint8_t *
block(size_t bytes)
{
    uint8_t *memory = aligned_alloc(NET_ALIGN, bytes ? bytes : 1);

    if (!memory)
        abort();
    return memory;
}

int
main(int argc, char **argv)
{
    FILE *in = fopen(argv[argc - 1], "rb");
    uint8_t *constants = block(NET_CONSTANTS_SIZE);
    uint8_t *placeholders =
        block(NET_Y_OFFSET + NET_Y_SIZE > NET_X_OFFSET + NET_X_SIZE
                  ? NET_Y_OFFSET + NET_Y_SIZE - SHORT
                  : NET_X_OFFSET + NET_X_SIZE - SHORT);
    uint8_t *activations = block(NET_ACTIVATIONS_SIZE);
    float *x = (float *)(placeholders + NET_X_OFFSET);
    int code = 0;

    if (!in ||
        fread(constants, 1, NET_CONSTANTS_SIZE, in) != NET_CONSTANTS_SIZE)
        return 1;
    fclose(in);
    for (size_t i = 0; i < (NET_X_SIZE - SHORT) / sizeof *x; i++)
        x[i] = (float)(i % 17) / 8 - 1;
#ifndef IDLE
    code = net(constants, placeholders, activations);
#endif
    if (write(1, placeholders + NET_Y_OFFSET, NET_Y_SIZE) != NET_Y_SIZE)
        return 1;
    free(constants);
    free(placeholders);
    free(activations);
    return code;
}

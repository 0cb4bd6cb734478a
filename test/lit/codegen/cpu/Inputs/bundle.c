/* Runs a bundle on the ramp 0, 1/4, 2/4, 3/4 and prints y. */

#include <stdio.h>
#include <string.h>

#include "net.h"

static _Alignas(NET_ALIGN) uint8_t constants[NET_CONSTANTS_SIZE + 1];
static _Alignas(NET_ALIGN) uint8_t placeholders[NET_PLACEHOLDERS_SIZE + 1];
static _Alignas(NET_ALIGN) uint8_t activations[NET_ACTIVATIONS_SIZE + 1];

int
main(int argc, char **argv)
{
    float x[NET_X_SIZE / sizeof(float)], y[NET_Y_SIZE / sizeof(float)];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;

    if (!f || fread(constants, 1, NET_CONSTANTS_SIZE, f) != NET_CONSTANTS_SIZE)
        return 1;
    fclose(f);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float)i / (float)(sizeof x / sizeof *x);
    memcpy(placeholders + NET_X_OFFSET, x, sizeof x);
    if (net(constants, placeholders, activations))
        return 2;
    memcpy(y, placeholders + NET_Y_OFFSET, sizeof y);
    printf("y =");
    for (size_t i = 0; i < sizeof y / sizeof *y; i++)
        printf(" %g", (double)y[i]);
    printf("\n");
    return 0;
}

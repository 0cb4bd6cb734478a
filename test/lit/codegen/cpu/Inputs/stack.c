/* The stack that a bundle takes is within the bound of its header. */

#define _GNU_SOURCE

#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "net.h"

enum { STACK = 1 << 20, FILL = 0x5a };

extern const uint8_t net_weights[];

static ucontext_t caller, callee;
static uint8_t stack[STACK] __attribute__((aligned(64)));
static uint8_t io[NET_PLACEHOLDERS_SIZE + 1] __attribute__((aligned(64)));
static uint8_t work[NET_ACTIVATIONS_SIZE + 1] __attribute__((aligned(64)));

static void
idle(void)
{
}

static void
run(void)
{
    if (net(net_weights, io, work) != 0)
        printf("failed\n");
}

/* Bytes of the stack that `fn` writes to. */
static long
used_by(void (*fn)(void))
{
    long low = 0;

    memset(stack, FILL, sizeof stack);
    getcontext(&callee);
    callee.uc_stack.ss_sp = stack;
    callee.uc_stack.ss_size = sizeof stack;
    callee.uc_link = &caller;
    makecontext(&callee, fn, 0);
    swapcontext(&caller, &callee);
    while (low < STACK && stack[low] == FILL)
        low++;
    return STACK - low;
}

int
main(void)
{
    const int shape[] = NET_X_SHAPE;
    const NET_X_TYPE one = 1;
    long more;

    for (int i = 0; i < NET_X_COUNT; i++)
        memcpy(io + NET_X_OFFSET + (size_t)i * sizeof one, &one, sizeof one);
    more = used_by(run) - used_by(idle);
    printf("rank %d, last %d, %s\n", (int)(sizeof shape / sizeof *shape),
           shape[NET_X_RANK - 1], NET_X_KIND);
    printf("%s\n", more <= NET_STACK_SIZE ? "within the bound" : "beyond it");
    printf("bound %s\n",
           NET_STACK_SIZE <= 4 * more + 1024 ? "is near" : "is far");
    NET_Y_TYPE y;
    memcpy(&y, io + NET_Y_OFFSET, sizeof y);
    printf("y[0] = %g\n", (double)y);
    return 0;
}

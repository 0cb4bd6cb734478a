/*
 * Runs a bundle without a C library, under Linux on AArch64: constants, then
 * placeholders, from standard input; placeholders to standard output.
 */

#include <stddef.h>

#include "net.h"

static uint8_t constants[NET_CONSTANTS_SIZE + 1]
    __attribute__((aligned(NET_ALIGN)));
static uint8_t placeholders[NET_PLACEHOLDERS_SIZE + 1]
    __attribute__((aligned(NET_ALIGN)));
static uint8_t activations[NET_ACTIVATIONS_SIZE + 1]
    __attribute__((aligned(NET_ALIGN)));

enum { READ = 63, WRITE = 64, EXIT = 93 };

static long
call(long number, long first, void *at, size_t size)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = first;
    register void *x1 __asm__("x1") = at;
    register size_t x2 __asm__("x2") = size;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

static void
move_all(long number, long file, uint8_t *at, size_t size)
{
    for (long got; size; at += got, size -= (size_t)got)
        if ((got = call(number, file, at, size)) <= 0)
            call(EXIT, 2, NULL, 0);
}

void *
memcpy(void *to, const void *from, size_t size)
{
    volatile uint8_t *t = to;

    for (size_t i = 0; i < size; i++)
        t[i] = ((const uint8_t *)from)[i];
    return to;
}

void *
memset(void *to, int byte, size_t size)
{
    volatile uint8_t *t = to;

    for (size_t i = 0; i < size; i++)
        t[i] = (uint8_t)byte;
    return to;
}

void
_start(void)
{
    move_all(READ, 0, constants, NET_CONSTANTS_SIZE);
    move_all(READ, 0, placeholders, NET_PLACEHOLDERS_SIZE);
    if (net(constants, placeholders, activations))
        call(EXIT, 1, NULL, 0);
    move_all(WRITE, 1, placeholders, NET_PLACEHOLDERS_SIZE);
    call(EXIT, 0, NULL, 0);
}

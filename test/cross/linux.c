/* Start code of a Linux program without a C library; see examples/board/start.h. */

#include "start.h"

enum { STDOUT = 1 };

#if defined(__aarch64__)
enum { WRITE = 64, EXIT = 93 };
__asm__(".globl _start\n_start: mov x29, #0\n bl begin\n");

static long
call(long number, long a, long b, long c)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b, x2 __asm__("x2") = c;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2)
                     : "memory");
    return x0;
}
#elif defined(__riscv)
enum { WRITE = 64, EXIT = 93 };
__asm__(".globl _start\n_start: call begin\n");

static long
call(long number, long a, long b, long c)
{
    register long a7 __asm__("a7") = number, a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b, a2 __asm__("a2") = c;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
}
#elif defined(__arm__)
enum { WRITE = 4, EXIT = 1 };
__asm__(".globl _start\n_start: bl begin\n");

static long
call(long number, long a, long b, long c)
{
    register long r7 __asm__("r7") = number, r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b, r2 __asm__("r2") = c;

    __asm__ volatile("svc #0"
                     : "+r"(r0)
                     : "r"(r7), "r"(r1), "r"(r2)
                     : "memory");
    return r0;
}
#elif defined(__powerpc64__)
enum { WRITE = 4, EXIT = 1 };
__asm__(".globl _start\n"
        "_start: addis 2, 12, .TOC.-_start@ha\n"
        " addi 2, 2, .TOC.-_start@l\n"
        " stdu 1, -64(1)\n bl begin\n nop\n");

static long
call(long number, long a, long b, long c)
{
    register long r0 __asm__("r0") = number, r3 __asm__("r3") = a;
    register long r4 __asm__("r4") = b, r5 __asm__("r5") = c;

    __asm__ volatile("sc"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5)
                     :
                     : "memory", "cr0", "r6", "r7", "r8", "r9", "r10", "r11",
                       "r12");
    return r3;
}
#elif defined(__x86_64__)
enum { WRITE = 1, EXIT = 60 };
__asm__(".globl _start\n_start: xor %ebp, %ebp\n call begin\n");

static long
call(long number, long a, long b, long c)
{
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c)
                     : "memory", "rcx", "r11");
    return number;
}
#endif

void
put(const char *text)
{
    size_t size = 0;

    while (text[size])
        size++;
    call(WRITE, STDOUT, (long)text, (long)size);
}

void
end(int status)
{
    for (;;)
        call(EXIT, status, 0, 0);
}

__attribute__((used, noreturn)) static void
begin(void)
{
    end(main());
}

void *
memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *t = to;
    const uint8_t *f = from;

    while (size--)
        *t++ = *f++;
    return to;
}

void *
memset(void *to, int byte, size_t size)
{
    uint8_t *t = to;

    while (size--)
        *t++ = (uint8_t)byte;
    return to;
}

/*
 * Start code of a Cortex-M: vector table, reset handler, and semihosting.
 *
 * The linker script names the memory.  Semihosting (Arm, Semihosting for AArch32
 * and AArch64) lets the debugger or QEMU print text and end the program, so there
 * is no driver.
 */

#include "start.h"

void reset(void);

extern uint32_t stack_top, data_start, data_end, data_image, bss_start, bss_end;

enum {
    SYS_WRITE0 = 0x04,
    SYS_EXIT_EXTENDED = 0x20,
    APPLICATION_EXIT = 0x20026
};

static void
call_host(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void
put(const char *text)
{
    call_host(SYS_WRITE0, text);
}

void
end(int status)
{
    const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};

    for (;;)
        call_host(SYS_EXIT_EXTENDED, block);
}

static void
fault(void)
{
    put("fault\n");
    end(1);
}

/* Allows the FPU and Helium (CPACR, CP10 and CP11); fills the RAM; calls main. */
void
reset(void)
{
    uint32_t *to = &data_start;

    *(volatile uint32_t *)0xe000ed88 |= 0xf << 20;
    __asm__ volatile("dsb\n\tisb");
    for (const uint32_t *from = &data_image; to < &data_end;)
        *to++ = *from++;
    for (to = &bss_start; to < &bss_end;)
        *to++ = 0;
    end(main());
}

/* The processor reads the stack pointer and the handlers of exceptions. */
__attribute__((section(".vectors"),
               used)) static const void *const vectors[16] = {
    &stack_top, reset, fault, fault, fault, fault, fault,
};

/* Clang calls these even where a program is freestanding. */

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

/* The same by Arm's run-time ABI, for aligned memory. */

void __aeabi_memclr(void *to, size_t size);
void __aeabi_memclr4(void *to, size_t size)
    __attribute__((alias("__aeabi_memclr")));
void __aeabi_memclr8(void *to, size_t size)
    __attribute__((alias("__aeabi_memclr")));

void
__aeabi_memclr(void *to, size_t size)
{
    memset(to, 0, size);
}

/*
 * Answers CPUID without some instructions, in libraries that mask_cpu.py has patched.
 *
 *     MASK_CPU=avx512|avx2 LD_PRELOAD=mask_cpu.so PROGRAM ...
 *
 * avx512 hides AMX, avx2 AVX-512 as well.  UD2 stands for CPUID in those libraries.
 * Others, the C library too, see the processor as it is.
 */

#define _GNU_SOURCE

#include <cpuid.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { INSTRUCTION_BYTES = 2 };

/* Bits of leaf 7, subleaves 0 and 1; "AMD64 and Intel 64" manuals, CPUID. */
enum {
    AVX512_EBX = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 |
                 1u << 28 | 1u << 30,
    AVX512_ECX = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14,
    AVX512_EDX = 1u << 2 | 1u << 3 | 1u << 8 | 1u << 23,
    AMX_EDX = 1u << 22 | 1u << 24 | 1u << 25,
    NEWER_EAX =
        1u << 4 | 1u << 5 | 1u << 23, /* AVX-VNNI, AVX512-BF16, AVX-IFMA */
    AMX_EAX = 1u << 21,               /* AMX-FP16 */
    NEWER_EDX = 1u << 4 | 1u << 5 | 1u << 10 | 1u << 19,
    AMX_SUB1_EDX = 1u << 8 /* AMX-COMPLEX */
};
static const uint32_t AVX512VL = 1u << 31;

static bool is_avx2;

static void
hide(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    if (leaf == 7 && sub == 0) {
        r[3] &= ~(uint32_t)AMX_EDX;
        if (is_avx2) {
            r[1] &= ~((uint32_t)AVX512_EBX | AVX512VL);
            r[2] &= ~(uint32_t)AVX512_ECX;
            r[3] &= ~(uint32_t)AVX512_EDX;
        }
    } else if (leaf == 7 && sub == 1) {
        r[0] &= ~(uint32_t)AMX_EAX;
        r[3] &= ~(uint32_t)AMX_SUB1_EDX;
        if (is_avx2) {
            r[0] &= ~(uint32_t)NEWER_EAX;
            r[3] &= ~(uint32_t)NEWER_EDX;
        }
    }
}

/* The trap of a UD2 in place of a CPUID. */
static void
on_trap(int number, siginfo_t *info, void *context)
{
    (void)info;
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)g[REG_RIP];
    if (at[0] != 0x0f || at[1] != 0x0b) {
        signal(number, SIG_DFL); /* comes again, and ends the program */
        return;
    }
    uint32_t leaf = (uint32_t)g[REG_RAX], sub = (uint32_t)g[REG_RCX], r[4];
    __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
    hide(leaf, sub, r);
    g[REG_RAX] = r[0], g[REG_RBX] = r[1], g[REG_RCX] = r[2], g[REG_RDX] = r[3];
    g[REG_RIP] += INSTRUCTION_BYTES;
}

__attribute__((constructor)) static void
mask(void)
{
    const char *name = getenv("MASK_CPU");
    if (!name)
        return;
    is_avx2 = strcmp(name, "avx2") == 0;
    struct sigaction trap = {.sa_sigaction = on_trap,
                             .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGILL, &trap, NULL)) {
        perror("mask_cpu: sigaction");
        _exit(1);
    }
}

/*
 * AMX tile registers: probing and instructions.
 *
 * CPU names and feature strings tell which targets have AMX: LLVM has no query
 * for it, and aborts on a missing instruction.  Linux enables the tile
 * registers for a process that requests them, if it supports them; this process
 * requests them before it generates code for its own machine.  No request is
 * made on other systems.  Valgrind hides AMX from cpuid.
 *
 * .source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume
 * 1, chapter 18; Linux, Documentation/arch/x86/xstate.rst
 */

#define _DEFAULT_SOURCE /* syscall */

#include "codegen/cpu/emit/matrix.h"

#include <string.h>

#define ARCH_PRCTL 158 /* the system call */
#define REQ_XCOMP_PERM 0x1023
#define XTILEDATA 18

/* This machine. */

#if defined(__linux__) && defined(__x86_64__)

#include <cpuid.h>
#include <unistd.h>

#define AMX_BF16 (1u << 22) /* of leaf 7, in edx */
#define AMX_TILE (1u << 24)

static bool
is_granted(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & AMX_BF16 &&
           d & AMX_TILE && syscall(ARCH_PRCTL, REQ_XCOMP_PERM, XTILEDATA) == 0;
}

#else

static bool
is_granted(void)
{
    return false;
}

#endif

/*
 * True for processors with AMX by name; for the host, LLVM lists all features
 * instead.
 */
static bool
is_named(const cpu_target *t)
{
    static const char *const names[] = {"sapphirerapids", "emeraldrapids",
                                        "graniterapids", "graniterapids-d",
                                        "diamondrapids"};
    bool has = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        has |= strcmp(t->cpu, names[i]) == 0;
    return has;
}

void
glow_cg_probe_matrix(cpu_target *t)
{
    bool named = is_named(t);

    t->has_amx = glow_cpu_has_word(t->features, "amx-bf16", named);
    t->matrix = t->has_amx &&
                glow_cpu_has_word(t->features, "amx-tile", true) &&
                strncmp(t->triple, "x86_64", 6) == 0 &&
                strstr(t->triple, "linux") && (!t->is_host || is_granted());
    t->matrix_bytes =
        t->matrix && glow_cpu_has_word(t->features, "amx-int8", named);
}

/* Code. */

static void
call(cg *g, const char *name, cg_value *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    cg_value fn = LLVMGetIntrinsicDeclaration(g->module, id, NULL, 0);

    LLVMBuildCall2(g->builder, LLVMIntrinsicGetType(g->context, id, NULL, 0),
                   fn, args, n, "");
}

static cg_value
number(cg *g, int r)
{
    return LLVMConstInt(g->i8, (unsigned)r, false);
}

cg_value
glow_cg_matrix_refused(cg *g)
{
    LLVMTypeRef params[3] = {g->i64, g->i64, g->i64};
    LLVMTypeRef t = LLVMFunctionType(g->i64, params, 3, false);
    static const char text[] = "syscall";
    static const char where[] = "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory},"
                                "~{dirflag},~{fpsr},~{flags}";
    cg_value ask =
        LLVMGetInlineAsm(t, text, sizeof text - 1, where, sizeof where - 1,
                         true, false, LLVMInlineAsmDialectATT, false);
    cg_value args[3] = {cg_i64(g, ARCH_PRCTL), cg_i64(g, REQ_XCOMP_PERM),
                        cg_i64(g, XTILEDATA)};
    cg_value answer = LLVMBuildCall2(g->builder, t, ask, args, 3, "");

    return cg_icmp(g, LLVMIntNE, answer, cg_i64(g, 0));
}

/*
 * Tile configuration: byte 0 is the palette, 16 to 47 the bytes per row, 48 to
 * 63 the rows.
 */
void
glow_cg_matrix_begin(cg *g, int rows, int depth)
{
    cg_value bytes[64], at;

    for (int i = 0; i < 64; i++)
        bytes[i] = LLVMConstNull(g->i8);
    bytes[0] = number(g, 1);
    for (int r = 0; r < 8; r++) {
        bool left = r == CPU_MATRIX_LEFT || r == CPU_MATRIX_LEFT + 1;

        bytes[16 + 2 * r] = number(g, left ? 2 * depth : 4 * CPU_MATRIX_LANES);
        bytes[48 + r] = number(g, r < CPU_MATRIX_RIGHT ? rows : depth / 2);
    }
    at = glow_cg_local(g, LLVMConstVector(bytes, 64));
    call(g, "llvm.x86.ldtilecfg", &at, 1);
}

void
glow_cg_matrix_end(cg *g)
{
    call(g, "llvm.x86.tilerelease", NULL, 0);
}

void
glow_cg_matrix_zero(cg *g, int r)
{
    call(g, "llvm.x86.tilezero", (cg_value[]){number(g, r)}, 1);
}

void
glow_cg_matrix_load(cg *g, int r, cg_value at, int64_t step)
{
    call(g, "llvm.x86.tileloadd64",
         (cg_value[]){number(g, r), at, cg_i64(g, step)}, 3);
}

void
glow_cg_matrix_store(cg *g, int r, cg_value at, int64_t step)
{
    call(g, "llvm.x86.tilestored64",
         (cg_value[]){number(g, r), at, cg_i64(g, step)}, 3);
}

void
glow_cg_matrix_multiply(cg *g, int sum, int left, int right)
{
    call(g, "llvm.x86.tdpbf16ps",
         (cg_value[]){number(g, sum), number(g, left), number(g, right)}, 3);
}

void
glow_cg_matrix_multiply_bytes(cg *g, int sum, int left, int right,
                              bool is_signed)
{
    call(g, is_signed ? "llvm.x86.tdpbssd" : "llvm.x86.tdpbusd",
         (cg_value[]){number(g, sum), number(g, left), number(g, right)}, 3);
}

/*
 * Tile registers: probing and instructions of AMX, and of BFMMLA (bfmmla.c).
 *
 * CPU names and feature strings tell which targets have AMX: LLVM has no query
 * for it, and aborts on a missing instruction.  Linux enables the tile
 * registers for a process that requests them, if it supports them; this process
 * requests them before it generates code for its own machine.  No request is
 * made on other systems.  Valgrind hides AMX from cpuid.
 *
 * The word +amx-emulated among the features calls functions in place of the
 * instructions (c/tiles.c), which give their bits on any x86-64.
 *
 * .source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume
 * 1, chapter 18; Linux, Documentation/arch/x86/xstate.rst
 */

#define _DEFAULT_SOURCE /* syscall */

#include "codegen/cpu/emit/matrix.h"

#include "codegen/cpu/emit/bfmmla.h"
#include "codegen/cpu/emit/feature.h"
#include "codegen/cpu/emit/link.h"

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
    t->matrix = t->has_amx && glow_cpu_has_word(t->features, "amx-tile", true);
    if (!t->emulates_amx)
        t->matrix &= strncmp(t->triple, "x86_64", 6) == 0 &&
                     strstr(t->triple, "linux") &&
                     (!t->is_host || is_granted());
    t->matrix_bytes =
        t->matrix && glow_cpu_has_word(t->features, "amx-int8", named);
}

void
glow_cg_probe_bfmmla(glow_arena *a, cpu_target *t)
{
    static const char *const feature = "bf16";

    if (strncmp(t->triple, "aarch64", 7) == 0 && !t->sve_bytes && !t->has_amx)
        glow_cg_features(a, t, &feature, 1, &t->bfmmla);
    t->matrix |= t->bfmmla && !t->exact;
}

/* Code. */

#define TILE_STATE (8 * 1024 + 8 * 16) /* bytes, of c/tiles.c */
#define TILE_ALIGN 64

/*
 * Calls instruction llvm.x86.NAME, or the function glow_c_tile_EMULATED, whose
 * first argument is the state and whose numbers are all i64.
 */
typedef struct instruction {
    const char *name, *emulated;
} instruction;

static void
call_function(cg *g, const char *name, const cg_value *args, unsigned n)
{
    cg_value fn = glow_cg_c_function(
        g, glow_arena_printf(g->arena, "glow_c_tile_%s", name));
    cg_value all[5] = {g->tiles.state};

    for (unsigned i = 0; i < n; i++)
        all[i + 1] =
            LLVMTypeOf(args[i]) == g->i8
                ? LLVMConstInt(g->i64, LLVMConstIntGetZExtValue(args[i]), false)
                : args[i];
    LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(fn), fn, all, n + 1, "");
}

static void
call(cg *g, instruction what, cg_value *args, unsigned n)
{
    const char *name = glow_arena_printf(g->arena, "llvm.x86.%s", what.name);
    unsigned id;

    if (g->target->emulates_amx) {
        call_function(g, what.emulated, args, n);
        return;
    }
    id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMBuildCall2(g->builder, LLVMIntrinsicGetType(g->context, id, NULL, 0),
                   LLVMGetIntrinsicDeclaration(g->module, id, NULL, 0), args, n,
                   "");
}

static cg_value
number(cg *g, int r)
{
    return LLVMConstInt(g->i8, (unsigned)r, false);
}

bool
glow_cg_matrix_asks(const cpu_target *t)
{
    return t->matrix && t->has_amx && !t->emulates_amx;
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
    cg_value answer;

    if (!glow_cg_matrix_asks(g->target))
        return NULL;
    answer = LLVMBuildCall2(g->builder, t, ask, args, 3, "");
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

    if (g->target->bfmmla) {
        glow_cg_bfmmla_begin(g, rows, depth);
        return;
    }
    for (int i = 0; i < 64; i++)
        bytes[i] = LLVMConstNull(g->i8);
    bytes[0] = number(g, 1);
    for (int r = 0; r < 8; r++) {
        bool left = r == CPU_MATRIX_LEFT || r == CPU_MATRIX_LEFT + 1;

        bytes[16 + 2 * r] = number(g, left ? 2 * depth : 4 * CPU_MATRIX_LANES);
        bytes[48 + r] = number(g, r < CPU_MATRIX_RIGHT ? rows : depth / 2);
    }
    at = glow_cg_local(g, LLVMConstVector(bytes, 64));
    if (g->target->emulates_amx) {
        g->tiles.state = glow_cg_local(
            g, LLVMGetUndef(LLVMArrayType2(glow_cg_vector(g->i8, TILE_ALIGN),
                                           TILE_STATE / TILE_ALIGN)));
        LLVMSetAlignment(g->tiles.state, TILE_ALIGN);
    }
    call(g, (instruction){"ldtilecfg", "begin"}, &at, 1);
}

void
glow_cg_matrix_end(cg *g)
{
    if (!g->target->bfmmla)
        call(g, (instruction){"tilerelease", "end"}, NULL, 0);
}

void
glow_cg_matrix_zero(cg *g, int r)
{
    if (g->target->bfmmla)
        glow_cg_bfmmla_zero(g, r);
    else
        call(g, (instruction){"tilezero", "zero"}, (cg_value[]){number(g, r)},
             1);
}

/* Loads a register by the instruction `name`. */
static void
load(cg *g, const char *name, int r, cg_value at, int64_t step)
{
    if (g->target->bfmmla)
        glow_cg_bfmmla_load(g, r, at, step);
    else
        call(g, (instruction){name, "load"},
             (cg_value[]){number(g, r), at, cg_i64(g, step)}, 3);
}

void
glow_cg_matrix_load(cg *g, int r, cg_value at, int64_t step)
{
    load(g, "tileloadd64", r, at, step);
}

void
glow_cg_matrix_stream(cg *g, int r, cg_value at, int64_t step)
{
    load(g, "tileloaddt164", r, at, step);
}

void
glow_cg_matrix_store(cg *g, int r, cg_value at, int64_t step)
{
    if (g->target->bfmmla)
        glow_cg_bfmmla_store(g, r, at, step);
    else
        call(g, (instruction){"tilestored64", "store"},
             (cg_value[]){number(g, r), at, cg_i64(g, step)}, 3);
}

void
glow_cg_matrix_multiply(cg *g, int sum, int left, int right)
{
    if (g->target->bfmmla)
        glow_cg_bfmmla_multiply(g, sum, left, right);
    else
        call(g, (instruction){"tdpbf16ps", "bf16"},
             (cg_value[]){number(g, sum), number(g, left), number(g, right)},
             3);
}

void
glow_cg_matrix_multiply_bytes(cg *g, int sum, int left, int right,
                              bool is_signed)
{
    cg_value args[4] = {number(g, sum), number(g, left), number(g, right),
                        LLVMConstInt(g->i8, is_signed, false)};

    call(g, (instruction){is_signed ? "tdpbssd" : "tdpbusd", "bytes"}, args,
         g->target->emulates_amx ? 4 : 3);
}

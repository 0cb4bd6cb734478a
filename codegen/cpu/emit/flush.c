/*
 * Flush-to-zero and denormals-are-zero: bits of a per-thread control register,
 * so each function that a thread starts in sets and restores them.
 *
 * On x86-64 both are in MXCSR (Intel, Software Developer's Manual 1, 10.2.3);
 * on AArch64 one bit in FPCR is for both (Arm, Architecture Reference Manual,
 * FPCR.FZ), and does not affect halves.
 */

#include "codegen/cpu/emit/flush.h"

#include <string.h>

enum {
    MXCSR_DAZ = 1 << 6,
    MXCSR_FTZ = 1 << 15,
    FPCR_FZ = 1 << 24,
};

static bool
is_x86(const char *triple)
{
    return strncmp(triple, "x86_64", 6) == 0;
}

static bool
is_arm(const char *triple)
{
    return strncmp(triple, "aarch64", 7) == 0;
}

bool
glow_cg_has_flush(const char *triple)
{
    return is_x86(triple) || is_arm(triple);
}

/* Calls llvm.x86.sse.stmxcsr or ldmxcsr on the 32 bits at `at`. */
static void
move_mxcsr(cg *g, const char *name, cg_value at)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));

    LLVMBuildCall2(g->builder, LLVMIntrinsicGetType(g->context, id, NULL, 0),
                   LLVMGetIntrinsicDeclaration(g->module, id, NULL, 0), &at, 1,
                   "");
}

static cg_value
read_fpcr(cg *g)
{
    static const char text[] = "mrs $0, fpcr";
    LLVMTypeRef t = LLVMFunctionType(g->i64, NULL, 0, false);
    cg_value ask = LLVMGetInlineAsm(t, text, sizeof text - 1, "=r", 2, true,
                                    false, LLVMInlineAsmDialectATT, false);

    return LLVMBuildCall2(g->builder, t, ask, NULL, 0, "");
}

static void
write_fpcr(cg *g, cg_value v)
{
    static const char text[] = "msr fpcr, $0", where[] = "r,~{memory}";
    LLVMTypeRef t =
        LLVMFunctionType(LLVMVoidTypeInContext(g->context), &g->i64, 1, false);
    cg_value set =
        LLVMGetInlineAsm(t, text, sizeof text - 1, where, sizeof where - 1,
                         true, false, LLVMInlineAsmDialectATT, false);

    LLVMBuildCall2(g->builder, t, set, &v, 1, "");
}

cg_value
glow_cg_flush_begin(cg *g)
{
    cg_value before, now;

    if (!g->target->flush)
        return NULL;
    if (is_arm(g->target->triple)) {
        before = read_fpcr(g);
        write_fpcr(g, LLVMBuildOr(g->builder, before, cg_i64(g, FPCR_FZ), ""));
        return before;
    }
    before = glow_cg_local(g, LLVMConstNull(g->i32));
    now = glow_cg_local(g, LLVMConstNull(g->i32));
    move_mxcsr(g, "llvm.x86.sse.stmxcsr", before);
    LLVMBuildStore(
        g->builder,
        LLVMBuildOr(g->builder, LLVMBuildLoad2(g->builder, g->i32, before, ""),
                    LLVMConstInt(g->i32, MXCSR_DAZ | MXCSR_FTZ, false), ""),
        now);
    move_mxcsr(g, "llvm.x86.sse.ldmxcsr", now);
    return before;
}

void
glow_cg_flush_end(cg *g, cg_value before)
{
    if (!before)
        return;
    if (is_arm(g->target->triple))
        write_fpcr(g, before);
    else
        move_mxcsr(g, "llvm.x86.sse.ldmxcsr", before);
}

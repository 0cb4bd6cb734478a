/*
 * Registers of SVE and RVV: the length that code is generated for.
 *
 * SVE code is for exactly sve_bytes, because vscale_range fixes the length.  RVV
 * code is for rvv_bytes or more: LLVM sets the vector length to that of a fixed
 * vector, and shorter registers (VLEN) would silently hold a part of it (RISC-V
 * V extension 1.0, 6.1).  LLVM has no query for the least VLEN, but writes the
 * extensions zvlNb, those that other features and the processor imply too, to
 * the attributes of its assembly.
 */

#include "codegen/cpu/emit/length.h"

#include <stdlib.h>
#include <string.h>

/* Assembly of an empty function, or NULL. */
static LLVMMemoryBufferRef
assembly(glow_arena *a, const cpu_target *t)
{
    cg g;
    LLVMMemoryBufferRef text = NULL;
    char *message = NULL;

    glow_cg_gen_begin(&g, a, "probe", t);
    glow_cg_function(&g, "probe", 0, true);
    LLVMBuildRet(g.builder, LLVMConstNull(g.i32));
    if (LLVMTargetMachineEmitToMemoryBuffer(
            t->machine, g.module, LLVMAssemblyFile, &message, &text)) {
        LLVMDisposeMessage(message);
        text = NULL;
    }
    glow_cg_gen_end(&g);
    return text;
}

void
glow_cg_probe_length(glow_arena *a, cpu_target *t)
{
    static const char extension[] = "_zvl";
    LLVMMemoryBufferRef text =
        strncmp(t->triple, "riscv", 5) == 0 ? assembly(a, t) : NULL;
    const char *at = text ? LLVMGetBufferStart(text) : "";

    while ((at = strstr(at, extension))) {
        int bits = (int)strtol(at + sizeof extension - 1, NULL, 10);

        at += sizeof extension - 1;
        if (bits / 8 > t->rvv_bytes)
            t->rvv_bytes = bits / 8;
    }
    if (text)
        LLVMDisposeMemoryBuffer(text);
}

/* The result of instruction `text`, which writes an integer register. */
static cg_value
ask(cg *g, const char *text)
{
    LLVMTypeRef t = LLVMFunctionType(
        LLVMIntPtrTypeInContext(g->context, g->target->layout), NULL, 0, false);
    cg_value code = LLVMGetInlineAsm(t, text, strlen(text), "=r", 2, true,
                                     false, LLVMInlineAsmDialectATT, false);

    return LLVMBuildCall2(g->builder, t, code, NULL, 0, "");
}

cg_value
glow_cg_length_refused(cg *g)
{
    const cpu_target *t = g->target;
    cg_value bytes;

    if (!t->sve_bytes && !t->rvv_bytes)
        return NULL;
    bytes = ask(g, t->sve_bytes ? "rdvl $0, #1" : "csrr $0, vlenb");
    return cg_icmp(g, t->sve_bytes ? LLVMIntNE : LLVMIntULT, bytes,
                   glow_cg_int(LLVMTypeOf(bytes),
                               t->sve_bytes ? t->sve_bytes : t->rvv_bytes));
}

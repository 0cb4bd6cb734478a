/*
 * Links objects into this process by LLVM ORC.
 *
 * The object is the same as in a file; ORC only links it.  One table holds all
 * functions that it may call, so that linking does not depend on the libraries
 * that the process has loaded.
 */

#include "codegen/cpu/run/jit.h"

#include <math.h>
#include <string.h>

#include "codegen/llvm/llvm.h"
#include "glow/diag.h"

struct cpu_jit {
    glow_context *ctx;
    LLVMOrcLLJITRef lljit;
};

#define SYMBOL(name) {#name, (LLVMOrcExecutorAddress)(uintptr_t)(name)}
#define REAL(name) SYMBOL(name), SYMBOL(name##f)

/* libc's memory functions and libm: all that generated code may call. */
static const struct {
    const char *name;
    LLVMOrcExecutorAddress address;
} symbols[] = {
    SYMBOL(memcpy), SYMBOL(memmove), SYMBOL(memset), REAL(ceil), REAL(cos),
    REAL(erf),      REAL(exp),       REAL(floor),    REAL(fma),  REAL(fmod),
    REAL(log),      REAL(pow),       REAL(rint),     REAL(sin),  REAL(sqrt),
    REAL(tanh),     REAL(trunc),
};

static bool
fail(cpu_jit *j, LLVMErrorRef e)
{
    char *message = LLVMGetErrorMessage(e);

    glow_error(j->ctx, "E0824", "cpu: LLVM refuses the code: %s", message);
    LLVMDisposeErrorMessage(message);
    return false;
}

static LLVMErrorRef
define_symbols(cpu_jit *j)
{
    enum { COUNT = sizeof(symbols) / sizeof(symbols[0]) };
    LLVMOrcCSymbolMapPair pairs[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        pairs[i] = (LLVMOrcCSymbolMapPair){
            LLVMOrcLLJITMangleAndIntern(j->lljit, symbols[i].name),
            {symbols[i].address,
             {LLVMJITSymbolGenericFlagsExported |
                  LLVMJITSymbolGenericFlagsCallable,
              0}}};
    return LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(j->lljit),
                                 LLVMOrcAbsoluteSymbols(pairs, COUNT));
}

static LLVMErrorRef
start(cpu_jit *j, bool debug)
{
    LLVMErrorRef e = LLVMOrcCreateLLJIT(&j->lljit, NULL);

    if (e) {
        j->lljit = NULL;
        return e;
    }
    if (debug) {
        e = LLVMOrcLLJITEnableDebugSupport(j->lljit);
        if (e)
            LLVMConsumeError(e); /* debugging is optional */
    }
    return define_symbols(j);
}

/* Passes each object to ORC, or disposes of it after an error. */
static LLVMErrorRef
add_objects(cpu_jit *j, LLVMMemoryBufferRef *objects, int count, LLVMErrorRef e)
{
    for (int i = 0; i < count; i++)
        if (e)
            LLVMDisposeMemoryBuffer(objects[i]);
        else
            e = LLVMOrcLLJITAddObjectFile(
                j->lljit, LLVMOrcLLJITGetMainJITDylib(j->lljit), objects[i]);
    return e;
}

cpu_jit *
glow_cpu_jit(glow_context *ctx, glow_arena *a, LLVMMemoryBufferRef *objects,
             int count, bool debug)
{
    cpu_jit *j = GLOW_NEW(a, cpu_jit);
    LLVMErrorRef e;

    j->ctx = ctx;
    e = add_objects(j, objects, count, start(j, debug));
    if (!e)
        return j;
    fail(j, e);
    glow_cpu_jit_end(j);
    return NULL;
}

bool
glow_cpu_jit_add(cpu_jit *j, LLVMMemoryBufferRef object)
{
    LLVMErrorRef e = add_objects(j, &object, 1, NULL);

    return !e || fail(j, e);
}

void *
glow_cpu_jit_find(cpu_jit *j, const char *name)
{
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef e = LLVMOrcLLJITLookup(j->lljit, &address, name);

    if (e) {
        fail(j, e);
        return NULL;
    }
    return (void *)(uintptr_t)address;
}

void
glow_cpu_jit_end(cpu_jit *j)
{
    if (!j->lljit)
        return;

    LLVMErrorRef e = LLVMOrcDisposeLLJIT(j->lljit);

    if (e)
        LLVMConsumeError(e);
}

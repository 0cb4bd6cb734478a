/* Optimizes an LLVM module and generates an object. */

#include "codegen/cpu/run/object.h"
#include "codegen/llvm/llvm.h"

#include <string.h>

static const char *
take(cg *g, char *message)
{
    const char *text = glow_arena_strdup(g->arena, message);

    LLVMDisposeMessage(message);
    return text;
}

const char *
glow_cpu_verify(cg *g)
{
    char *message = NULL;
    bool bad = LLVMVerifyModule(g->module, LLVMReturnStatusAction, &message);
    const char *text = take(g, message);

    return bad ? text : NULL;
}

/*
 * The kernels are built in their final loop structure, so the passes only
 * promote locals to registers, share addresses, and hoist them out of loops.
 * Kernels in C reach that form after inlining, when code that depends on
 * constant arguments is folded.
 */
const char *
glow_cpu_passes(const cg *g)
{
    static const char passes[] =
        "function(sroa,early-cse,instsimplify,loop-mssa(licm),early-cse)";
    static const char with_c[] =
        "globaldce,always-inline,globaldce,"
        "function(sroa,early-cse<memssa>,sccp,instcombine<no-verify-fixpoint>,"
        "simplifycfg,loop-mssa(loop-rotate,licm),"
        "instcombine<no-verify-fixpoint>,simplifycfg,early-cse)";

    return g->has_c ? with_c : passes;
}

const char *
glow_cpu_optimize(cg *g)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e =
        LLVMRunPasses(g->module, glow_cpu_passes(g), g->target->machine, o);
    const char *text = NULL;

    LLVMDisposePassBuilderOptions(o);
    if (e) {
        char *message = LLVMGetErrorMessage(e);

        text = glow_arena_strdup(g->arena, message);
        LLVMDisposeErrorMessage(message);
    }
    return text;
}

const char *
glow_cpu_machine_code(cg *g, LLVMCodeGenFileType what, LLVMMemoryBufferRef *out)
{
    char *message = NULL;

    if (!LLVMTargetMachineEmitToMemoryBuffer(g->target->machine, g->module,
                                             what, &message, out))
        return NULL;
    *out = NULL;
    return take(g, message);
}

int64_t
glow_cpu_code_size(LLVMMemoryBufferRef object)
{
    char *message = NULL;
    LLVMBinaryRef b = LLVMCreateBinary(object, NULL, &message);
    int64_t size = 0;

    if (!b) {
        LLVMDisposeMessage(message);
        return 0;
    }

    LLVMSectionIteratorRef s = LLVMObjectFileCopySectionIterator(b);

    for (; !LLVMObjectFileIsSectionIteratorAtEnd(b, s);
         LLVMMoveToNextSection(s)) {
        const char *name = LLVMGetSectionName(s);

        if (name && (strncmp(name, ".text", 5) == 0 ||
                     strncmp(name, ".rodata", 7) == 0))
            size += (int64_t)LLVMGetSectionSize(s);
    }
    LLVMDisposeSectionIterator(s);
    LLVMDisposeBinary(b);
    return size;
}

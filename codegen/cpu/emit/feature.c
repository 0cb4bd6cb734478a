/*
 * Features of a target, by LLVM's inliner.
 *
 * LLVM's C interface lists the features of the host, but not of a named processor.
 * Its inliner knows them: a function is inlined into another only if the target of the
 * caller has all features of the callee.  So a function for the target and one feature
 * more is called from a function for the target, and after inlining the remaining calls
 * are of features that the target lacks.  The callee states the target's name and features
 * too: a virtual machine may lack features that the processor's name stands for, such as
 * PKU, and a callee of the name alone would have them.
 */

#include "codegen/cpu/emit/feature.h"

#include <string.h>

static void
call_function_with(cg *g, const char *feature)
{
    cg_value fn = LLVMAddFunction(
        g->module, feature,
        LLVMFunctionType(LLVMVoidTypeInContext(g->context), NULL, 0, false));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(g->context);
    const char *features = g->target->features;

    LLVMSetLinkage(fn, LLVMInternalLinkage);
    glow_cg_attribute(g, fn, "target-cpu", g->target->cpu);
    glow_cg_attribute(g, fn, "target-features",
                      glow_arena_printf(g->arena, "%s%s+%s", features,
                                        *features ? "," : "", feature));
    LLVMPositionBuilderAtEnd(
        b, LLVMAppendBasicBlockInContext(g->context, fn, "entry"));
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(fn), fn, NULL, 0, "");
}

static bool
still_calls(cg *g, cg_value fn, const char *feature)
{
    cg_value callee = LLVMGetNamedFunction(g->module, feature);
    LLVMBasicBlockRef body = LLVMGetEntryBasicBlock(fn);

    for (cg_value v = LLVMGetFirstInstruction(body); v && callee;
         v = LLVMGetNextInstruction(v))
        if (LLVMGetInstructionOpcode(v) == LLVMCall &&
            LLVMGetCalledValue(v) == callee)
            return true;
    return false;
}

void
glow_cg_features(glow_arena *a, const cpu_target *t, const char *const *names,
                 int count, bool *has)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e;
    cg_value fn;
    cg g;

    glow_cg_gen_begin(&g, a, "probe", t);
    fn = glow_cg_function(&g, "probe", 0, true);
    for (int i = 0; i < count; i++)
        if (names[i])
            call_function_with(&g, names[i]);
    LLVMBuildRet(g.builder, LLVMConstNull(g.i32));
    e = LLVMRunPasses(g.module, "inline", t->machine, o);
    if (e)
        LLVMConsumeError(e);
    for (int i = 0; i < count; i++)
        has[i] = names[i] && !e && !still_calls(&g, fn, names[i]);
    glow_cg_gen_end(&g);
    LLVMDisposePassBuilderOptions(o);
}

#define WIDEST 64 /* bytes of a vector */

bool
glow_cg_is_amd(glow_arena *a, const cpu_target *t)
{
    const char *feature = "sse4a";
    bool has = strncmp(t->cpu, "znver", 5) == 0;

    if (!has && strncmp(t->triple, "x86_64", 6) == 0)
        glow_cg_features(a, t, &feature, 1, &has);
    return has;
}

bool
glow_cg_has_halves(glow_arena *a, const cpu_target *t)
{
    const char *feature = "avxvnni"; /* of Zen 5 */
    bool has;

    if (t->vector_bytes < WIDEST || !glow_cg_is_amd(a, t))
        return false;
    glow_cg_features(a, t, &feature, 1, &has);
    return !has;
}

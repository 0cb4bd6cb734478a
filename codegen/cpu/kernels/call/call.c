/* Calls of kernels that are written in C. */

#include "codegen/cpu/kernels/call/call.h"

#include <assert.h>
#include <string.h>

#include "codegen/cpu/kernels/common.h"
#include "codegen/llvm/llvm.h"

/* Attributes that Clang sets for its own default target. */
static const char *const foreign[] = {
    "target-cpu",       "target-features",
    "tune-cpu",         "min-legal-vector-width",
    "frame-pointer",    "stack-protector-buffer-size",
    "no-trapping-math",
};

static void
adopt(cg *g, cg_value fn)
{
    LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        LLVMRemoveStringAttributeAtIndex(fn, self, foreign[i],
                                         (unsigned)strlen(foreign[i]));
    LLVMAddAttributeAtIndex(fn, self, glow_cg_enum(g, "alwaysinline"));
    glow_cg_for_target(g, fn);
}

/* Links all C kernels into the module; unused ones are removed later. */
static void
link_all(cg *g)
{
    LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRange(
        (const char *)glow_cpu_bitcode, glow_cpu_bitcode_size, "c", false);
    LLVMModuleRef m = NULL;
    bool ok = LLVMParseBitcodeInContext2(g->context, bytes, &m) == 0;

    /* We made these bytes: they are good unless the build is not. */
    assert(ok);
    (void)ok;
    LLVMDisposeMemoryBuffer(bytes);
    LLVMSetTarget(m, g->target->triple);
    LLVMSetModuleDataLayout(m, g->target->layout);
    for (cg_value fn = LLVMGetFirstFunction(m); fn;
         fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn))
            adopt(g, fn);
    LLVMLinkModules2(g->module, m);
    for (cg_value fn = LLVMGetFirstFunction(g->module); fn;
         fn = LLVMGetNextFunction(fn)) {
        const char *name = LLVMGetValueName(fn);

        if (strncmp(name, "glow_c_", 7) == 0)
            LLVMSetLinkage(fn, LLVMInternalLinkage);
    }
    g->has_c = true;
}

cpu_call
glow_cpu_call(cpu_job *j, const char *name)
{
    if (!j->g->has_c)
        link_all(j->g);
    return (cpu_call){.j = j, .name = name};
}

void
glow_cpu_arg(cpu_call *c, cg_value pointer)
{
    assert(c->n < CPU_MAX_ARGS);
    c->arg[c->n++] = pointer ? pointer : LLVMConstNull(c->j->g->ptr);
}

void
glow_cpu_arg_int(cpu_call *c, int64_t v)
{
    glow_cpu_arg(c, cg_i64(c->j->g, v));
}

void
glow_cpu_arg_real(cpu_call *c, double v)
{
    glow_cpu_arg(c, glow_cg_real(c->j->g->f64, v));
}

void
glow_cpu_arg_tensor(cpu_call *c, cg_tensor t)
{
    glow_cpu_arg(c, t.at);
    glow_cpu_arg_int(c, t.at ? (int64_t)t.type->elem : 0);
}

void
glow_cpu_arg_ints(cpu_call *c, const int64_t *at, int64_t count)
{
    glow_cpu_arg(c, glow_cpu_table(c->j->g, at, count));
}

void
glow_cpu_call_end(cpu_call *c)
{
    cg *g = c->j->g;
    cg_value fn = LLVMGetNamedFunction(g->module, c->name);

    assert(fn && LLVMCountParams(fn) == (unsigned)c->n);

    cg_value code = LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(fn), fn,
                                   c->arg, (unsigned)c->n, "");

    if (c->j->step->kernel->fails)
        glow_cpu_fail_if(c->j, cg_icmp(g, LLVMIntNE, code, cg_i64(g, 0)));
}

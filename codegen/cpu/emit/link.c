/* Links functions that are written in C into a module. */

#include "codegen/cpu/emit/link.h"

#include <assert.h>
#include <string.h>

/* Attributes that Clang sets for its own default target. */
static const char *const foreign[] = {
    "target-cpu",       "target-features",
    "tune-cpu",         "min-legal-vector-width",
    "frame-pointer",    "stack-protector-buffer-size",
    "no-trapping-math",
};

static unsigned
kind_of(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static void
adopt(cg *g, cg_value fn)
{
    LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        LLVMRemoveStringAttributeAtIndex(fn, self, foreign[i],
                                         (unsigned)strlen(foreign[i]));
    if (!LLVMGetEnumAttributeAtIndex(fn, self, kind_of("noinline")))
        LLVMAddAttributeAtIndex(fn, self, glow_cg_enum(g, "alwaysinline"));
    glow_cg_for_target(g, fn);
}

/* Links all functions into the module; unused ones are removed later. */
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

cg_value
glow_cg_c_function(cg *g, const char *name)
{
    cg_value fn;

    if (!g->has_c)
        link_all(g);
    fn = LLVMGetNamedFunction(g->module, name);
    assert(fn);
    return fn;
}

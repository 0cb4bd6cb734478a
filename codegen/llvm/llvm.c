/* Loads LLVM by dlopen and dlsym; see llvm.h. */

#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "codegen/llvm/llvm.h"

#include <dlfcn.h>

#ifdef GLOW_LLVM_LINKED

const char *
glow_llvm_load(void)
{
    return NULL;
}

void *
glow_llvm_find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

void
glow_llvm_register_targets(void)
{
    LLVMInitializeAllTargetInfos();
}

void
glow_llvm_initialize(const char *target)
{
    (void)target;
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    LLVMInitializeAllAsmParsers();
}

#else

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct glow_llvm_calls glow_llvm;

static const char *const names[] = {
#define NAME(name) #name,
    GLOW_LLVM_CALLS(NAME)
#undef NAME
};

static void *library;
static char failure[512];

/*
 * The library is never unloaded: threads and destructors of LLVM may outlive
 * any caller.
 */
static void
load(void)
{
    void *calls[sizeof names / sizeof *names];

    library = dlopen(GLOW_LLVM_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        snprintf(failure, sizeof failure, "%s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        calls[i] = dlsym(library, names[i]);
        if (!calls[i]) {
            snprintf(failure, sizeof failure, "%s has no %s", GLOW_LLVM_LIBRARY,
                     names[i]);
            return;
        }
    }
    _Static_assert(sizeof calls == sizeof glow_llvm, "pointers and no more");
    memcpy(&glow_llvm, calls, sizeof calls);
}

const char *
glow_llvm_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return failure[0] ? failure : NULL;
}

void *
glow_llvm_find(const char *name)
{
    return dlsym(library, name);
}

static void
call(const char *name)
{
    void (*function)(void);
    void *found = glow_llvm_find(name);

    memcpy(&function, &found, sizeof found);
    if (function)
        function();
}

void
glow_llvm_register_targets(void)
{
#define LLVM_TARGET(name) call("LLVMInitialize" #name "TargetInfo");
#include <llvm/Config/Targets.def>
}

static void
initialize_family(const char *family)
{
    static const char *const parts[] = {"Target", "TargetMC", "AsmPrinter",
                                        "AsmParser"};
    char name[64];

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(name, sizeof name, "LLVMInitialize%s%s", family, parts[i]);
        call(name);
    }
}

/* The name of a family begins those of its targets, but for some, such as `thumb`. */
void
glow_llvm_initialize(const char *target)
{
    static const char *const families[] = {
#define LLVM_TARGET(name) #name,
#include <llvm/Config/Targets.def>
    };

    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!target ||
            strncasecmp(target, families[i], strlen(families[i])) == 0)
            initialize_family(families[i]);
}

#endif

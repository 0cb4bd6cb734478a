/*
 * Installs handlers for exhausted memory in LLVM.
 *
 * LLVM allocates by operator new, and by malloc for trivial types.  Both call a
 * handler, but the C interface sets neither: the setters are C++ functions with
 * plain arguments, which are looked up by their mangled names (Itanium C++
 * ABI).  If a library lacks one, LLVM aborts as before.
 */

#include "codegen/cpu/run/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "codegen/llvm/llvm.h"
#include "ir/base/memory.h"

/* std::set_new_handler(void (*)()) */
#define NEW_HANDLER "_ZSt15set_new_handlerPFvvE"
/* llvm::install_bad_alloc_error_handler(
       void (*)(void *, const char *, bool), void *) */
#define BAD_ALLOC_HANDLER \
    "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_"

typedef void new_handler(void);
typedef void bad_alloc_handler(void *user, const char *reason, bool crash);

static void
no_memory(void)
{
    glow_no_memory(0);
}

static void
bad_alloc(void *user, const char *reason, bool crash)
{
    (void)user;
    (void)reason;
    (void)crash;
    no_memory();
}

/*
 * Stores in `to`, a pointer to a function pointer, a function of LLVM or of the
 * C++ library; false if there is none.
 */
static bool
find(const char *name, void *to)
{
    void *function = glow_llvm_find(name);

    memcpy(to, &function, sizeof function);
    return function != NULL;
}

static void
install(void)
{
    new_handler *(*set_new)(new_handler *);
    void (*set_bad_alloc)(bad_alloc_handler *, void *);

    if (!glow_memory_is_handled())
        return; /* a program without a handler keeps LLVM's behavior */
    if (find(NEW_HANDLER, &set_new))
        set_new(no_memory);
    if (find(BAD_ALLOC_HANDLER, &set_bad_alloc))
        set_bad_alloc(bad_alloc, NULL);
}

void
glow_cpu_memory_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install);
}

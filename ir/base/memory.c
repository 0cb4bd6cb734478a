/*
 * Large blocks of memory, and what happens when it ends: the handler, which must
 * not return.
 */

#define _DEFAULT_SOURCE /* madvise */

#include "ir/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE_PAGE = 1 << 21 };

static glow_oom_fn handler;
static void *handler_user;

void
glow_on_out_of_memory(glow_oom_fn fn, void *user)
{
    handler = fn;
    handler_user = user;
}

void *
glow_no_memory(size_t size)
{
    if (handler)
        handler(size, handler_user);
    abort();
}

void *
glow_memory_new(size_t size)
{
    size_t align = size < HUGE_PAGE ? LINE : HUGE_PAGE;

    if (size > SIZE_MAX - align)
        return glow_no_memory(size);

    size_t whole = (size + align - 1) & ~(align - 1);
    void *p = aligned_alloc(align, whole);

    if (!p)
        return glow_no_memory(size);
#ifdef MADV_HUGEPAGE
    if (whole >= HUGE_PAGE)
        madvise(p, whole, MADV_HUGEPAGE);
#endif
    memset(p, 0, size);
    return p;
}

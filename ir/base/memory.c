/*
 * Large blocks of memory, and exhaustion of memory: the handler, which must not
 * return.
 */

#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */

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

bool
glow_memory_is_handled(void)
{
    return handler != NULL;
}

void *
glow_no_memory(size_t size)
{
    if (handler)
        handler(size, handler_user);
    abort();
}

/* Whole huge pages from the system, which gives them zeroed. */
static void *
new_pages(size_t size)
{
    unsigned char *p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;

    size_t before = -(uintptr_t)p & (HUGE_PAGE - 1);

    if (before)
        munmap(p, before);
    munmap(p + before + size, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(p + before, size, MADV_HUGEPAGE);
#endif
    return p + before;
}

static size_t
in_pages(size_t size)
{
    return (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

void *
glow_memory_new(size_t size)
{
    bool large = size >= HUGE_PAGE;

    if (size > SIZE_MAX / 2)
        return glow_no_memory(size);

    size_t whole = (size + LINE - 1) & ~(size_t)(LINE - 1);
    void *p = large ? new_pages(in_pages(size)) : aligned_alloc(LINE, whole);

    if (!p)
        return glow_no_memory(size);
    if (!large)
        memset(p, 0, size);
    return p;
}

void
glow_memory_free(void *p, size_t size)
{
    if (size >= HUGE_PAGE)
        munmap(p, in_pages(size));
    else
        free(p);
}

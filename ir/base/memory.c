/* What happens when memory ends: the handler, which must not return. */

#include "ir/base/memory.h"

#include <stdlib.h>

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

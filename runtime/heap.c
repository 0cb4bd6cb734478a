#include "runtime/heap.h"

#include <stdlib.h>

#include "glow/base.h"

void *
glow_heap_new(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    return p ? p : glow_no_memory(size);
}

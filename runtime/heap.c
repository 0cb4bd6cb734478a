#include "runtime/heap.h"

#include <stdint.h>
#include <stdlib.h>

#include "glow/base.h"

void *
glow_heap_new(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    return p ? p : glow_no_memory(size);
}

void *
glow_heap_lines(size_t size)
{
    return size > SIZE_MAX - 128
               ? NULL
               : aligned_alloc(64, (size + 63) / 64 * 64 + 64);
}

/* Memory of objects that threads share. */

#ifndef RUNTIME_HEAP_H
#define RUNTIME_HEAP_H

#include <stddef.h>

/*
 * `size` zeroed bytes, for free().  Never NULL: without memory the handler of
 * glow_on_out_of_memory is called.
 */
void *glow_heap_new(size_t size);
/*
 * `size` bytes of whole cache lines and one more, aligned to a line, since kernels of
 * the host may read a vector too far; for free().  NULL: there is no memory.
 */
void *glow_heap_lines(size_t size);

#endif

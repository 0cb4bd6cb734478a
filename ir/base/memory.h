/* Memory from the system, and what happens when it ends. */

#ifndef GLOW_IR_BASE_MEMORY_H
#define GLOW_IR_BASE_MEMORY_H

#include "glow/base.h"

/* Calls the handler of glow_on_out_of_memory; does not return. */
void *glow_no_memory(size_t size);

/* True if glow_on_out_of_memory was given a handler. */
bool glow_memory_is_handled(void);

/*
 * Zeroed bytes, on a line of the cache.  What fills huge pages is asked for in
 * these, since the few addresses of small pages that a processor keeps are soon
 * used up; the system has zeroed them already.
 */
void *glow_memory_new(size_t size);

/* Gives back what glow_memory_new(size) gave. */
void glow_memory_free(void *p, size_t size);

#endif

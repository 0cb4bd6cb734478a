/* Memory from the system, and the handler of its exhaustion. */

#ifndef GLOW_IR_BASE_MEMORY_H
#define GLOW_IR_BASE_MEMORY_H

#include "glow/base.h"

/* True if glow_on_out_of_memory was given a handler. */
bool glow_memory_is_handled(void);

/*
 * Zeroed bytes, aligned to a cache line.  Requests that fill huge pages get
 * huge pages, since the TLB covers little memory by small ones; the system has
 * zeroed them already.
 */
void *glow_memory_new(size_t size);

/* Frees memory of glow_memory_new(size). */
void glow_memory_free(void *p, size_t size);

#endif

/* What happens when memory ends. */

#ifndef GLOW_IR_BASE_MEMORY_H
#define GLOW_IR_BASE_MEMORY_H

#include "glow/base.h"

/* Calls the handler of glow_on_out_of_memory; does not return. */
void *glow_no_memory(size_t size);

#endif

/*
 * The mode in which a processor takes subnormal numbers for zeros.
 */

#ifndef CODEGEN_CPU_EMIT_FLUSH_H
#define CODEGEN_CPU_EMIT_FLUSH_H

#include "codegen/cpu/emit/gen.h"

/* True if processors of this triple have the mode. */
bool glow_cpu_has_flush(const char *triple);

/*
 * Sets the mode if the target says so (`flush`); returns what glow_cpu_flush_end
 * restores, or NULL.
 */
cg_value glow_cpu_flush_begin(cg *g);
/* Restores the mode that there was before; nothing if `before` is NULL. */
void glow_cpu_flush_end(cg *g, cg_value before);

#endif

/*
 * Flush-to-zero mode: the processor treats subnormal numbers as zeros.
 */

#ifndef CODEGEN_CPU_EMIT_FLUSH_H
#define CODEGEN_CPU_EMIT_FLUSH_H

#include "codegen/cpu/emit/gen.h"

/* True if processors of this triple have the mode. */
bool glow_cg_has_flush(const char *triple);

/*
 * Sets the mode if the target asks for it (`flush`); returns the earlier state
 * for glow_cg_flush_end, or NULL.
 */
cg_value glow_cg_flush_begin(cg *g);
/* Restores the state `before`; does nothing if it is NULL. */
void glow_cg_flush_end(cg *g, cg_value before);

#endif

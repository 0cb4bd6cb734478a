/*
 * Kinds of low precision in generated code.  They are computed with as their
 * bits, which only conversions give a meaning.
 */

#ifndef CODEGEN_CPU_EMIT_LOW_H
#define CODEGEN_CPU_EMIT_LOW_H

#include "codegen/cpu/emit/kind.h"

/*
 * As glow_cpu_convert where `from` or `to` is of low precision; `saturates` and
 * `round` are those of glow_double_to_low.
 */
cg_value glow_cpu_convert_low(cg *g, const glow_type *from, const glow_type *to,
                              cg_value v, bool saturates, int round);
/* Stored value of kind `to` with the bits of another kind of the same width. */
cg_value glow_cpu_recast(cg *g, const glow_type *to, cg_value bits);

#endif

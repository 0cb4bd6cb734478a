/*
 * Kinds of low precision in generated code.  Their arithmetic type is their
 * bits; only conversions interpret them.
 */

#ifndef CODEGEN_CPU_EMIT_LOW_H
#define CODEGEN_CPU_EMIT_LOW_H

#include "codegen/cpu/emit/kind.h"

/*
 * Like glow_cg_convert, if `from` or `to` is of low precision; `saturates` and
 * `round` are those of glow_double_to_low.
 */
cg_value glow_cg_convert_low(cg *g, const glow_type *from, const glow_type *to,
                             cg_value v, bool saturates, int round);
/*
 * A value of kind `to` with the bits `bits` of another kind of the same width.
 */
cg_value glow_cg_recast(cg *g, const glow_type *to, cg_value bits);

#endif

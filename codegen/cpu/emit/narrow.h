/*
 * 16-bit floats, float16 and bfloat16: conversions, and dot products of pairs.
 */

#ifndef CODEGEN_CPU_EMIT_NARROW_H
#define CODEGEN_CPU_EMIT_NARROW_H

#include "codegen/cpu/emit/gen.h"

/* Sets has_half, has_bfloat and pairs of the target: see target.h. */
void glow_cg_probe_narrow(glow_arena *a, cpu_target *t);

/*
 * Conversion of float16 or bfloat16 `bits` to float, and of float by rounding
 * to nearest even.  Unless `exactly`, subnormals may be flushed to 0.
 */
bool glow_cg_is_narrow(glow_kind kind);
cg_value glow_cg_widen(cg *g, glow_kind kind, cg_value bits);
cg_value glow_cg_narrow(cg *g, glow_kind kind, cg_value v, bool exactly);

/*
 * Dot product of pairs: sum + a[0] * b[0] + a[1] * b[1] in each lane, where the
 * 32-bit lanes of `a` and `b` hold two bfloat16, the first in the low half.
 * Requires t->pairs.
 */
cg_value glow_cg_add_pairs(cg *g, cg_value a, cg_value b, cg_value sum);
/* `lanes` pairs of a number at `at` and one `step` bytes further; 0: and 0. */
cg_value glow_cg_load_pairs(cg *g, cg_value at, int64_t step, int lanes);

#endif

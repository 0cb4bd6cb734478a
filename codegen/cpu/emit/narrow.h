/*
 * Numbers of 16 bits, float16 and bfloat16: how they become float and what the
 * target does with them by itself.
 */

#ifndef CODEGEN_CPU_EMIT_NARROW_H
#define CODEGEN_CPU_EMIT_NARROW_H

#include "codegen/cpu/emit/gen.h"

/* What LLVM makes of conversions for the target: see `target.h`. */
void glow_cpu_probe_narrow(glow_arena *a, cpu_target *t);

/*
 * float16 or bfloat16: `bits` as float, and a float rounded to nearest even, where
 * numbers that are not normal may become 0 unless it is done `exactly`.
 */
bool glow_cpu_is_narrow(glow_kind kind);
cg_value glow_cpu_widen(cg *g, glow_kind kind, cg_value bits);
cg_value glow_cpu_narrow(cg *g, glow_kind kind, cg_value v, bool exactly);

/*
 * In each lane of `sum`, a[0] * b[0] + a[1] * b[1] more: `a` and `b` are lanes of
 * 32 bits that each hold two bfloat16, the first in the low half.  Only where
 * t->pairs says how.
 */
cg_value glow_cpu_add_pairs(cg *g, cg_value a, cg_value b, cg_value sum);

#endif

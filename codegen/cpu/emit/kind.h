/*
 * Element kinds in generated code: how an element lies in memory, and as what
 * it is computed with.
 *
 * float, float16 and bfloat16 are computed as float; float64 and, as the real
 * values that they stand for, the quantized kinds as double; integers as
 * themselves; bool as i1.
 */

#ifndef CODEGEN_CPU_EMIT_KIND_H
#define CODEGEN_CPU_EMIT_KIND_H

#include "codegen/cpu/emit/gen.h"

/* Elements in memory. */
typedef struct cg_tensor {
    cg_value at;
    const glow_type *type;
} cg_tensor;

int glow_cpu_bytes(const glow_type *t); /* of one element */
/* As what one element is computed with. */
LLVMTypeRef glow_cpu_computed(cg *g, const glow_type *t);
/* Are the kind's integers signed? */
/* The kind of a plugin that `n` reads or writes, for which there is no code. */
const char *glow_cpu_foreign_kind(const glow_node *n);
bool glow_cpu_is_signed(const glow_type *t);

/* `lanes` elements from number `index` in memory on, to compute with. */
cg_value glow_cpu_load(cg *g, cg_tensor t, cg_value index, int lanes);
void glow_cpu_store(cg *g, cg_tensor t, cg_value index, cg_value v);

/*
 * What is stored, without a meaning: integers of the element's size, or float
 * and double themselves.
 */
cg_value glow_cpu_load_bits(cg *g, cg_tensor t, cg_value index, int lanes);
void glow_cpu_store_bits(cg *g, cg_tensor t, cg_value index, cg_value v);

/*
 * Between the two: what storing and loading again would give.  Results of
 * arithmetic that are not normal may become 0 in kinds of 16 bits.
 */
cg_value glow_cpu_encode(cg *g, const glow_type *t, cg_value v);
cg_value glow_cpu_encode_exactly(cg *g, const glow_type *t, cg_value v);
cg_value glow_cpu_decode(cg *g, const glow_type *t, cg_value bits);

/* From what `from` is computed with to what `to` is. */
cg_value glow_cpu_convert(cg *g, const glow_type *from, const glow_type *to,
                          cg_value v);
/* To an integer: toward zero, saturating, 0 for NaN. */
cg_value glow_cpu_to_int(cg *g, cg_value v, LLVMTypeRef scalar, bool is_signed);

#endif

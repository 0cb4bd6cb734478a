/*
 * Element kinds in generated code: the type of an element in memory, and the
 * type for its arithmetic.
 *
 * float, float16 and bfloat16 are computed as float; float64 as double; integers and
 * quantized elements as the integers that they are (quant.h has the arithmetic of the
 * latter); bool as i1.
 */

#ifndef CODEGEN_CPU_EMIT_KIND_H
#define CODEGEN_CPU_EMIT_KIND_H

#include "codegen/cpu/emit/gen.h"

/* A tensor in memory. */
typedef struct cg_tensor {
    cg_value at;
    const glow_type *type;
} cg_tensor;

int glow_cg_bytes(const glow_type *t); /* of one element */
/* The type for arithmetic on one element. */
LLVMTypeRef glow_cg_computed(cg *g, const glow_type *t);
/*
 * The name of a plugin's kind that `n` reads or writes, for which there is no
 * code; or NULL.
 */
const char *glow_cg_foreign_kind(const glow_node *n);
/* True if the integers of the kind are signed. */
bool glow_cg_is_signed(const glow_type *t);

/*
 * Loads `lanes` elements from element `index` on, and converts them for
 * arithmetic.
 */
cg_value glow_cg_load(cg *g, cg_tensor t, cg_value index, int lanes);
void glow_cg_store(cg *g, cg_tensor t, cg_value index, cg_value v);

/*
 * The stored bits without conversion: integers of the element's size, or float
 * and double themselves.
 */
cg_value glow_cg_load_bits(cg *g, cg_tensor t, cg_value index, int lanes);
void glow_cg_store_bits(cg *g, cg_tensor t, cg_value index, cg_value v);

/*
 * Conversion between both forms, as by a store and a load. glow_cg_encode may
 * flush subnormal results of arithmetic to 0 in 16-bit kinds;
 * glow_cg_encode_exactly does not.
 */
cg_value glow_cg_encode(cg *g, const glow_type *t, cg_value v);
cg_value glow_cg_encode_exactly(cg *g, const glow_type *t, cg_value v);
cg_value glow_cg_decode(cg *g, const glow_type *t, cg_value bits);

/* Converts `v` from the arithmetic type of `from` to that of `to`. */
cg_value glow_cg_convert(cg *g, const glow_type *from, const glow_type *to,
                         cg_value v);
/*
 * Converts to an integer: truncates toward zero, saturates, and gives 0 for
 * NaN.
 */
cg_value glow_cg_to_int(cg *g, cg_value v, LLVMTypeRef scalar, bool is_signed);

#endif

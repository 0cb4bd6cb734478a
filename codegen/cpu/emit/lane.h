/*
 * Element-wise operators in generated code: from an element of each operand, or
 * a vector of them, to the result.
 */

#ifndef CODEGEN_CPU_EMIT_LANE_H
#define CODEGEN_CPU_EMIT_LANE_H

#include "codegen/cpu/emit/kind.h"

/* Operands and result have the arithmetic types of kind.h. */
typedef cg_value (*cg_lane_fn)(cg *g, const glow_node *n, cg_value const *in);

/* The code of `n` for the kinds that it has; NULL if it is not element-wise. */
cg_lane_fn glow_cg_lane(const glow_node *n);
/* The code of its operator for kinds that are not quantized. */
cg_lane_fn glow_cg_plain_lane(const glow_op *op);
/* The code where operands or result are quantized: quant_lane.c. */
cg_lane_fn glow_cg_quantized_lane(const glow_node *n);

/* Maximum and minimum of IEEE 754-2019, and of integers. */
cg_value glow_cg_max(cg *g, const glow_type *t, cg_value a, cg_value b);
cg_value glow_cg_min(cg *g, const glow_type *t, cg_value a, cg_value b);

#endif

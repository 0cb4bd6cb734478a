/*
 * Element-wise operators in generated code: what one element of the result is,
 * or a vector of them, from those of the operands.
 */

#ifndef CODEGEN_CPU_EMIT_LANE_H
#define CODEGEN_CPU_EMIT_LANE_H

#include "codegen/cpu/emit/kind.h"

/* `in` as it is computed with; returns the same of the result. */
typedef cg_value (*cg_lane_fn)(cg *g, const glow_node *n, cg_value const *in);

/* NULL if the operator is none of these. */
cg_lane_fn glow_cpu_lane(const glow_op *op);

/* IEEE 754-2019 maximum and minimum, and those of integers. */
cg_value glow_cpu_max(cg *g, const glow_type *t, cg_value a, cg_value b);
cg_value glow_cpu_min(cg *g, const glow_type *t, cg_value a, cg_value b);

#endif

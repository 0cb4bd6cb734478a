/*
 * Tiles of AArch64 for matrix.h: sums in memory, multiplied by BFMMLA, whose registers hold
 * 2 x 4 of the left operand, 4 x 2 of the right one and 2 x 2 of the sums.
 */

#ifndef CODEGEN_CPU_EMIT_BFMMLA_H
#define CODEGEN_CPU_EMIT_BFMMLA_H

#include "codegen/cpu/emit/gen.h"

/* As the functions of matrix.h without `bfmmla_`. */
void glow_cg_bfmmla_begin(cg *g, int rows, int depth);
void glow_cg_bfmmla_zero(cg *g, int r);
void glow_cg_bfmmla_load(cg *g, int r, cg_value at, int64_t step);
void glow_cg_bfmmla_store(cg *g, int r, cg_value at, int64_t step);
void glow_cg_bfmmla_multiply(cg *g, int sum, int left, int right);

#endif

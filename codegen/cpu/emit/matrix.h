/*
 * AMX of x86, for bfloat16 and integers of 8 bits: tile registers, and an instruction that multiplies
 * two tiles and adds the product to a third.  On AArch64 with FEAT_BF16 products of
 * bfloat16 have the same interface, with tiles in memory: an operand is read where it is
 * when it is multiplied, so it has to stay as it was loaded until then.
 *
 * There are eight tile registers: CPU_MATRIX_LEFT accumulators of float, then
 * two with rows of the left operand, then two of the right operand, whose rows
 * hold pairs along the depth.  The number of rows and the depth are configured
 * once for a kernel.
 */

#ifndef CODEGEN_CPU_EMIT_MATRIX_H
#define CODEGEN_CPU_EMIT_MATRIX_H

#include "codegen/cpu/emit/gen.h"

#define CPU_MATRIX_ROWS 16  /* at most */
#define CPU_MATRIX_DEPTH 32 /* bfloat16 elements, at most */
#define CPU_MATRIX_LANES 16 /* columns of an accumulator */
#define CPU_MATRIX_LEFT 4   /* the first of two */
#define CPU_MATRIX_RIGHT 6  /* the first of two */

/* Sets t->has_amx, t->matrix and t->matrix_bytes, by the CPU and features of the target. */
void glow_cg_probe_matrix(cpu_target *t);

/* The same of t->bfmmla and t->matrix, by the machine of the target. */
void glow_cg_probe_bfmmla(glow_arena *a, cpu_target *t);

/* True if the system has to give the registers. */
bool glow_cg_matrix_asks(const cpu_target *t);
/*
 * Builds a system call that requests the tile registers for this process; the
 * result, an i1, is true if the system refuses.  NULL if nothing is to be asked.
 */
cg_value glow_cg_matrix_refused(cg *g);

/* Tile configuration and release, around all uses of tiles. */
void glow_cg_matrix_begin(cg *g, int rows, int depth);
void glow_cg_matrix_end(cg *g);

void glow_cg_matrix_zero(cg *g, int r);
/* Loads or stores rows at a distance of `step` bytes. */
void glow_cg_matrix_load(cg *g, int r, cg_value at, int64_t step);
/* A load of rows that are not read again soon: they leave others in the L1 cache. */
void glow_cg_matrix_stream(cg *g, int r, cg_value at, int64_t step);
void glow_cg_matrix_store(cg *g, int r, cg_value at, int64_t step);
/* sum += left * right */
void glow_cg_matrix_multiply(cg *g, int sum, int left, int right);
/*
 * The same of integers, with sums of i32: groups of four of s8 or u8 by s8.  For
 * glow_cg_matrix_begin a group counts as two elements of the depth.
 */
void glow_cg_matrix_multiply_bytes(cg *g, int sum, int left, int right,
                                   bool is_signed);

#endif

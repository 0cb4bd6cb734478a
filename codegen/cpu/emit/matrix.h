/*
 * Registers that hold matrices, and one instruction that multiplies two of them
 * and adds the product to a third: AMX of x86, for bfloat16.
 *
 * There are eight.  Those before CPU_MATRIX_LEFT are sums of float, two have rows of
 * the left operand, two the right one, whose rows are pairs of the depth.  How many
 * rows they have, and how deep they are, is set once for a kernel.
 */

#ifndef CODEGEN_CPU_EMIT_MATRIX_H
#define CODEGEN_CPU_EMIT_MATRIX_H

#include "codegen/cpu/emit/gen.h"

#define CPU_MATRIX_ROWS 16  /* at most */
#define CPU_MATRIX_DEPTH 32 /* numbers of bfloat16, at most */
#define CPU_MATRIX_LANES 16 /* columns of one */
#define CPU_MATRIX_LEFT 4   /* the first of two */
#define CPU_MATRIX_RIGHT 6  /* the first of two */

/* Sets t->has_amx and t->matrix, by the words for the target. */
void glow_cpu_probe_matrix(cpu_target *t);

/*
 * Has the system give them to this process: a call in generated code, whose
 * result, an i1, says that it refuses.
 */
cg_value glow_cpu_matrix_refused(cg *g);

/* Around all that uses them. */
void glow_cpu_matrix_begin(cg *g, int rows, int depth);
void glow_cpu_matrix_end(cg *g);

void glow_cpu_matrix_zero(cg *g, int r);
/* Rows that lie `step` bytes apart. */
void glow_cpu_matrix_load(cg *g, int r, cg_value at, int64_t step);
void glow_cpu_matrix_store(cg *g, int r, cg_value at, int64_t step);
/* sum += left * right */
void glow_cpu_matrix_multiply(cg *g, int sum, int left, int right);

#endif

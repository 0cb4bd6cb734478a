/*
 * Dot products of short integers: instructions that add up two or four products
 * of 8 or 16 bits in each lane of 32 bits.
 */

#ifndef CODEGEN_CPU_EMIT_DOT_H
#define CODEGEN_CPU_EMIT_DOT_H

#include "codegen/cpu/emit/gen.h"

/*
 * Sets t->dot, t->dot_unsigned, t->dot_rows and t->dot_bytes: the forms of dot products and
 * the bytes of their vectors.
 */
void glow_cg_probe_dot(glow_arena *a, cpu_target *t);

/* Elements that are added up in each lane, and bytes of an element. */
int glow_cg_dot_group(cpu_dot form);
int glow_cg_dot_bytes(cpu_dot form);
/* Lanes of 16 bits of the largest vectors of CPU_DOT_PAIRS; 0: there is no such form. */
int glow_cg_pair_lanes(const cpu_target *t);
/* True if two rows are multiplied by two columns. */
bool glow_cg_dot_rows(cpu_dot form);
/* True if the left operand is signed. */
bool glow_cg_dot_signed(cpu_dot form);

/*
 * The sum of `sum`, a vector of i32, and in each lane the products of the elements
 * of `x` and `w`: vectors of i32 that hold a group of elements in each lane, or of
 * i16 for CPU_DOT_WIDE.  Sums are modulo 2^32; no product saturates.  If two rows
 * are multiplied by two columns, vectors have 16 bytes, of which each half is eight
 * elements of a row of `x` or a column of `w`; sums are row by row.
 */
cg_value glow_cg_dot(cg *g, cpu_dot form, cg_value x, cg_value w, cg_value sum);

/*
 * `a` and `b` element by element in turn, within each 16 bytes of the vectors: the
 * first or the second half of each.
 */
cg_value glow_cg_unpack(cg *g, cg_value a, cg_value b, bool second);
/*
 * Undoes it with elements of half the bits: those of `a`, then those of `b`, within
 * each 16 bytes.  Elements out of the range of the narrow ones saturate on x86_64,
 * and are undefined elsewhere.
 */
cg_value glow_cg_pack(cg *g, cg_value a, cg_value b, bool is_signed);
/*
 * The nearest i32 to floats in vectors of 16 to 64 bytes, ties to even; the least one
 * for those out of range.  On x86_64 only.
 */
cg_value glow_cg_to_nearest(cg *g, cg_value x);

#endif

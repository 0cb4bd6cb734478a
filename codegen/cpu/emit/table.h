/* Lookup of elements in a table, by shuffles of vectors where the target has them. */

#ifndef CODEGEN_CPU_EMIT_TABLE_H
#define CODEGEN_CPU_EMIT_TABLE_H

#include "codegen/cpu/emit/kind.h"

/* Sets t->shuffle and t->shuffle_bytes. */
void glow_cg_probe_shuffle(glow_arena *a, cpu_target *t);

/*
 * For each lane of `q`, elements of `from`: element q - least of `table`, in memory,
 * where least is the least element of the kind; `step` elements lie between two of
 * the table.
 */
cg_value glow_cg_look_up(cg *g, const glow_type *from, cg_value q,
                         cg_tensor table, int64_t step);

#endif

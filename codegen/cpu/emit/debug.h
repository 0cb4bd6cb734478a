/* DWARF line tables: from code to the lines of the .gir file. */

#ifndef CODEGEN_CPU_EMIT_DEBUG_H
#define CODEGEN_CPU_EMIT_DEBUG_H

#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"

void glow_cg_debug_begin(cg *g, const glow_func *f);
void glow_cg_debug_step(cg *g, cg_value fn, const cpu_step *s);
void glow_cg_debug_entry(cg *g, cg_value fn, const glow_func *f);
/* Gives the line of `n` to the instructions built next in `fn`. */
void glow_cg_debug_line(cg *g, cg_value fn, const glow_node *n);
void glow_cg_debug_end(cg *g);

#endif

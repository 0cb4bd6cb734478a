/*
 * The access table of a program, and the rewriting of a program with it.
 *
 * The mark of a node is its number in the table.  By mark the table has the
 * position of each node; a node that is moved or added later has that of its
 * neighbour.
 */

#ifndef IRGEN_SHARING_PROGRAM_H
#define IRGEN_SHARING_PROGRAM_H

#include "irgen/sharing/accesses.h"

/* Fills a table from `f`; sets the marks of its nodes. */
glow_accesses *glow_accesses_of_program(glow_pass_run *run, glow_func *f);

/* True if all direct views of an alloc are defined behind the step. */
bool glow_views_follow(const glow_accesses *x, uint32_t buffer,
                       const glow_step *s);

/*
 * Changes of a table, and of the program if there is one.  They change no live
 * range; only glow_drop_step removes a step.
 */

/* Moves a buffer into a part of another one; its alloc and its views become views
   of that part. */
void glow_move_to_part(glow_accesses *x, uint32_t buffer, const glow_part *to);

/*
 * Moves a buffer to value `to`, which has as many bytes; `name` (or a view of it,
 * where the types differ) replaces its alloc.  The dealloc of the target moves
 * behind `last`, or if `last` is NULL, behind that of the moved buffer; if
 * `early`, the definition of `name` moves before the alloc of the moved buffer.
 */
void glow_move_to_value(glow_accesses *x, uint32_t buffer, uint32_t to,
                        glow_value *name, const glow_step *last, bool early);

/* Replaces the operands of `s` in the same place as value `operand`, and of the type of
   `name`, by `name`. */
void glow_name_in_place(glow_accesses *x, const glow_step *s, uint32_t operand,
                        glow_value *name);

/* Moves the alloc of the buffer to right before the step. */
void glow_begin_at(glow_accesses *x, uint32_t buffer, const glow_step *s);

/* Removes a step. */
void glow_drop_step(glow_accesses *x, uint32_t step);

/* Copies operand `k` of the Concat to `to`, in a step right before it. */
void glow_copy_part(glow_accesses *x, uint32_t step, int k,
                    const glow_part *to);

#endif

/*
 * The access table of a program, and the rewriting of a program with it.
 *
 * Nodes keep the mark that the table gave them.  Where a node stands is known by
 * rank, also of what is moved or made meanwhile: that has the rank of its
 * neighbour.
 */

#ifndef IRGEN_SHARING_PROGRAM_H
#define IRGEN_SHARING_PROGRAM_H

#include "irgen/sharing/accesses.h"

/* Numbers the instructions by their marks. */
glow_accesses *glow_accesses_of_program(glow_pass_run *run, glow_func *f);

/* True if all direct views of an alloc are defined behind the step. */
bool glow_views_follow(const glow_accesses *x, uint32_t buffer,
                       const glow_step *s);

/*
 * The changes of a table, with those of the program if there is one.  They drop no
 * step, and no life is changed.
 */

/* Moves a buffer into a part of another one, by a view for each of its names. */
void glow_move_to_part(glow_accesses *x, uint32_t buffer, const glow_part *to);

/*
 * Moves a buffer to a value of the same bytes, by that name (or a view of it, where
 * the types differ).  The buffer of that lives until `last`, or if that is NULL, as
 * long as the one that is moved; and if `early`, from before that begins.
 */
void glow_move_to_value(glow_accesses *x, uint32_t buffer, uint32_t to,
                        glow_value *name, const glow_step *last, bool early);

/* Lets operands that lie where result `out` does, or will, have its name. */
void glow_name_in_place(glow_accesses *x, const glow_step *s, uint32_t operand,
                        glow_value *name);

/* Begins an alloc right before the step at the earliest. */
void glow_begin_at(glow_accesses *x, uint32_t buffer, const glow_step *s);

/* Removes a step. */
void glow_drop_step(glow_accesses *x, uint32_t step);

/* Copies operand `k` of the Concat to `to`, in a step right before it. */
void glow_copy_part(glow_accesses *x, uint32_t step, int k,
                    const glow_part *to);

#endif

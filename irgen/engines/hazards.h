/*
 * Dependences between instructions of a placed program through the bytes of its
 * regions.
 */

#ifndef IRGEN_ENGINES_HAZARDS_H
#define IRGEN_ENGINES_HAZARDS_H

#include "glow/number.h"

/*
 * Called for each instruction `n` of the text with work and each engine with an earlier
 * one that it depends on: `last` is the last such, which writes bytes that `n` reads or
 * writes, or reads bytes that it writes.  Elements of constants are never written.
 */
typedef void (*hazard_fn)(void *user, glow_node *last, glow_node *n);

/*
 * Finds them by one walk.  `engine` is, by number in `numbers`, from 0 to count - 1, or
 * -1 for nodes without work.  Buffers without a place are memory of their own.
 */
void glow_each_hazard(glow_arena *a, glow_func *f,
                      const glow_numbering *numbers, const int *engine,
                      int count, hazard_fn fn, void *user);

#endif

/*
 * How many bytes of buffers live at each instruction, if each lives from its
 * first access to its last: what memory a program needs at least, and what it
 * would need if the lives were others.
 */

#ifndef PASSES_PROGRAM_LIVES_H
#define PASSES_PROGRAM_LIVES_H

#include "passes/program/buffers.h"

typedef struct lives lives;

/* After buffers_measure, by the marks that it gave. */
lives *lives_measure(glow_arena *a, const glow_func *f,
                     const buffer_info *infos);

/* A buffer of `v` lives (sign 1) or does not live (-1) from mark to mark. */
void lives_add(lives *l, const glow_value *v, uint32_t first, uint32_t last,
               int sign);

/*
 * Lets the life of `to` cover that of `from`, which is gone then, if that costs
 * no memory at the worst moment; false, and nothing changed, if it does.
 */
bool lives_join(lives *l, buffer_info *infos, const glow_value *from,
                const glow_value *to);

/* Do at most as many bytes live between two marks as at the worst moment of
   the program as it was measured? */
bool lives_fit(const lives *l, uint32_t first, uint32_t last);

#endif

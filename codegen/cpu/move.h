/*
 * Operators that read elements at regular steps: what they read for the element
 * of the result at index i is operand[at + sum of i * step].
 */

#ifndef CODEGEN_CPU_MOVE_H
#define CODEGEN_CPU_MOVE_H

#include "glow/graph.h"

typedef struct cpu_move {
    int64_t at;     /* elements */
    glow_dims step; /* over the shape of the result */
} cpu_move;

/* Fills in how `n` reads operand `i`; false if it is not regular. */
bool glow_cpu_move(const glow_node *n, int i, cpu_move *out);
/* Does it move bits only? */
bool glow_cpu_moves_bits(const glow_op *op);

#endif

/*
 * Affine access functions of operands: element i of the result is computed from
 * operand[at + sum of i[d] * step[d]].
 */

#ifndef CODEGEN_CPU_MOVE_H
#define CODEGEN_CPU_MOVE_H

#include "glow/graph.h"

typedef struct cpu_move {
    int64_t at;     /* elements */
    glow_dims step; /* elements; by axis of the result */
} cpu_move;

/* The access function of operand `i` of `n`; false if it is not affine. */
bool glow_cpu_move(const glow_node *n, int i, cpu_move *out);
/* True if the operator copies elements without arithmetic. */
bool glow_cpu_moves_bits(const glow_op *op);

#endif

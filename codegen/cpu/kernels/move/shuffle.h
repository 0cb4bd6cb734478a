/* Shuffles of vectors: transpose.c. */

#ifndef CODEGEN_CPU_KERNELS_MOVE_SHUFFLE_H
#define CODEGEN_CPU_KERNELS_MOVE_SHUFFLE_H

#include "codegen/cpu/emit/gen.h"

/*
 * `n` vectors become one row: lane 0 of all, lane 1 of all, ...  As many as have
 * lanes, up to 64, are turned.
 */
void glow_cpu_interleave(cg *g, cg_value *v, int n);

#endif

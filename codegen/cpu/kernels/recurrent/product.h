/*
 * Register tile of recurrent networks: rows of a state times R for a vector of
 * hidden units.
 */

#ifndef CODEGEN_CPU_KERNELS_RECURRENT_PRODUCT_H
#define CODEGEN_CPU_KERNELS_RECURRENT_PRODUCT_H

#include "codegen/cpu/kernels/common.h"

typedef struct cpu_recurrent_tile {
    int rows, gates, lanes;
    int64_t depth;  /* elements of the state */
    cg_value state; /* of the first row: floats, `row_step` bytes apart */
    int64_t row_step;
    cg_value weights; /* [depth][gate][lane] */
} cpu_recurrent_tile;

#define CPU_MOST_PRODUCTS 64

/* sum[row * gates + gate], without initial values. */
void glow_cpu_recurrent_tile(cg *g, const cpu_recurrent_tile *t, cg_value *sum);

#endif

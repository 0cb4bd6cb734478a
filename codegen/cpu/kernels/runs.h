/* Cuts a line of results into runs of register tiles with equal taps. */

#ifndef CODEGEN_CPU_KERNELS_RUNS_H
#define CODEGEN_CPU_KERNELS_RUNS_H

#include "codegen/cpu/kernels/common.h"

#define CPU_MOST_RUNS 40

/* Tiles side by side whose rows have the same valid taps. */
typedef struct cpu_run {
    int64_t first, count; /* the first result; how many tiles */
    int rows;             /* results of one tile */
    bool *valid;          /* [row * kernel + tap]: is within the input */
} cpu_run;

/*
 * Cost of a line of `width` results by register tiles of rows x blocks, counted
 * in multiplications: the multiplications of each tile, at least 9 because of
 * their latency, plus 3 for its start.
 */
int64_t glow_cpu_line_cost(int64_t width, int rows, int blocks);
/* The number of rows, at most `most`, whose glow_cpu_line_cost is least. */
int glow_cpu_best_rows(int64_t width, int blocks, int most);

/* Cuts a line into runs; 0 if that takes more than CPU_MOST_RUNS. */
int glow_cpu_cut(glow_arena *a, const cpu_window_axis *x, int rows,
                 cpu_run *runs);

#endif

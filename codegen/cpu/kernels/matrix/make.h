/*
 * Emitter of sums by matrix registers: its state, and its stages.
 *
 * matrix.c has the loops over images, blocks, cuts and groups of channels, tiles.c the
 * sums of two tiles, sums.c where these begin and end, results.c their epilogue, and
 * ahead.c the prefetching of weights.
 */

#ifndef CODEGEN_CPU_KERNELS_MATRIX_MAKE_H
#define CODEGEN_CPU_KERNELS_MATRIX_MAKE_H

#include "codegen/cpu/kernels/matrix/matrix.h"

#define CPU_MATRIX_PITCH (CPU_MATRIX_COLUMNS * 4) /* bytes of a row of sums */

/* Rows that wait to be finished, beside each other in the result: locals. */
typedef struct cpu_matrix_waiting {
    cg_value from;    /* byte of the buffer at which the first is */
    cg_value pixel;   /* of that row */
    cg_value count;   /* of rows */
    cg_value channel; /* the first of all of them */
    cg_value next; /* byte of the half of the buffer for the rows behind them */
} cpu_matrix_waiting;

/*
 * The prefetching of the next group's weights: each multiplication prefetches `lines`
 * lines in each of `places` places, which are `apart` lines from each other.
 */
typedef struct cpu_matrix_reading {
    int64_t places, lines, apart;
} cpu_matrix_reading;

typedef struct cpu_matrix_maker {
    cpu_job *j;
    cpu_matrix m;
    cg_value batch, first; /* image; channel of the results of the group */
    cg_value in;           /* address of line 0 of the image, as it is read */
    cg_value flags;        /* of its lines, of floats: see parts.c */
    cpu_slow slow;
    cg_value unsafe; /* an i1: the weights of this group are not safe */
    cg_value buffer;
    cpu_matrix_waiting waits;
    cpu_within units;
    /* The current cut, an i64 and two i1; sums of the ones before; NULL without. */
    cg_value cut, begins, ends, sums;
    /* The current group of channels. */
    cg_value channel, weights, group;
    int beside, columns;
    cpu_matrix_reading ahead;
    /* Of the tiles that are summed up: the first pixel to finish, and locals: the
       rows from there on whose results are prefetched, and the part of a row that is due,
       times the multiplications of a loop over the depth. */
    cg_value pixel, coming, due;
} cpu_matrix_maker;

/* A tile of a line: its first pixel, and how many of its rows are done. */
typedef struct cpu_matrix_place {
    cg_value tile, line, x, skip;
} cpu_matrix_place;

/* All tiles of steps `first` to `end`, for the current group of channels. */
void glow_cpu_matrix_steps(cpu_matrix_maker *k, cg_value first, cg_value end);

/* Sums of `count` tiles of pair `number` of the group: of the cuts before, or zeros. */
void glow_cpu_matrix_begin_sums(const cpu_matrix_maker *k, int count,
                                cg_value number);
/* Leaves them for the next cut; those of the last wait to be finished. */
void glow_cpu_matrix_end_sums(const cpu_matrix_maker *k,
                              const cpu_matrix_place *p, int count,
                              cg_value number);

/* Sets the buffer of rows that wait; there are none yet. */
void glow_cpu_matrix_begin_results(cpu_matrix_maker *k);
/* Finishes as many of the rows that wait, at most `most`; or all. */
void glow_cpu_matrix_finish(const cpu_matrix_maker *k, cg_value most);
void glow_cpu_matrix_finish_all(const cpu_matrix_maker *k);
/* Prefetches what the chain accesses of the next `count` rows of the current tiles. */
void glow_cpu_matrix_prefetch_rows(const cpu_matrix_maker *k, cg_value count);

/* The prefetching for the current group of channels. */
cpu_matrix_reading glow_cpu_matrix_ahead_of(const cpu_matrix_maker *k);
/* Prefetches the lines of one multiplication at `at`; returns the address of the next. */
cg_value glow_cpu_matrix_prefetch(const cpu_matrix_maker *k, cg_value at);

#endif

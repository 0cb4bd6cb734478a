/*
 * Emitter of Winograd's convolution: state and stages, and the loops over the
 * tiles of a block.
 *
 * Tiles are numbered row by row.  For each block of tiles: the input is
 * transformed, all points of a tile at once and a vector of channels at a time;
 * for each point the transformed tiles are multiplied by the transformed
 * weights, by register tiles; and the products are transformed into results,
 * which stay in registers for the fused element-wise chain.
 *
 *     input      [point][tile][channel]
 *     weights    [group][point][vectors][channel][lane], at compile time
 *     products   [point][tile][output]
 */

#ifndef CODEGEN_CPU_KERNELS_WINOGRAD_MAKE_H
#define CODEGEN_CPU_KERNELS_WINOGRAD_MAKE_H

#include "codegen/cpu/kernels/runs.h"
#include "codegen/cpu/kernels/winograd/winograd.h"

/* Columns of tiles with the same pixels, in phases side by side. */
typedef struct cpu_span {
    int64_t phase, phases;
    cpu_run run; /* of each phase */
} cpu_span;

typedef struct cpu_spans {
    int count;
    cpu_span at[CPU_MOST_RUNS];
} cpu_spans;

/*
 * Spans of the columns of the input, and of the results; false if there are
 * more than CPU_MOST_RUNS.
 */
bool glow_cpu_winograd_read(glow_arena *a, const cpu_winograd *w, cpu_spans *s);
bool glow_cpu_winograd_written(glow_arena *a, const cpu_winograd *w,
                               cpu_spans *s);

typedef struct cpu_winograd_maker {
    cpu_job *j;
    cpu_winograd w;
    cpu_form form_h, form_w;
    cpu_product p;
    cg_value in, v, products, zeros, weights;
    cg_value group;
    cg_value first, end;       /* tiles to make */
    cg_value output0, output1; /* groups of vectors of outputs to make */
    cg_value tile0, tile1;     /* of the block */
    cg_value row, tile;   /* at hand; the tile is numbered within the block */
    cg_value image, y, x; /* of the tile: of its first result */
} cpu_winograd_maker;

typedef void (*cpu_winograd_fn)(cpu_winograd_maker *m, const cpu_span *span);
typedef void (*cpu_winograd_vector_fn)(cpu_winograd_maker *m, cg_value channel,
                                       int lanes, const void *what);

/* Calls `body` for each tile of the block, with the span of its column. */
void glow_cpu_winograd_each(cpu_winograd_maker *m, const cpu_spans *spans,
                            cpu_winograd_fn body);
/*
 * Loops over the rows of tiles of the block and the phases of their columns.  In the body
 * the first of `count` tiles is at hand; there is none if `count` is not positive.
 */
typedef struct cpu_winograd_row_loops {
    cg_loop rows, phases;
    cg_value count;
} cpu_winograd_row_loops;

void glow_cpu_winograd_begin_rows(cpu_winograd_maker *m,
                                  cpu_winograd_row_loops *l);
void glow_cpu_winograd_end_rows(cpu_winograd_maker *m,
                                cpu_winograd_row_loops *l);
/*
 * Calls `body` for vectors of the channels from `first` to less than `end`, at
 * most `count`, and for their tail of less than a vector.
 */
void glow_cpu_winograd_each_vector(cpu_winograd_maker *m, cg_value first,
                                   cg_value end, int64_t count,
                                   cpu_winograd_vector_fn body,
                                   const void *what);

/* The stages, for the block. */
void glow_cpu_winograd_input(cpu_winograd_maker *m, const cpu_spans *spans);
void glow_cpu_winograd_products(cpu_winograd_maker *m);
void glow_cpu_winograd_output(cpu_winograd_maker *m, const cpu_spans *spans);

int64_t glow_cpu_winograd_size(const cpu_target *t, const glow_node *n);
/* Filter [O, taps_h, taps_w, C]. */
void glow_cpu_winograd_pack(const cpu_target *t, const glow_node *n,
                            const glow_tensor *from, void *to);

#endif

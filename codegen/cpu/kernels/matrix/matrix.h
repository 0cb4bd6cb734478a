/*
 * Convolutions and products of bfloat16 by registers of matrices (codegen/cpu/
 * emit/matrix.h), where the target has them.
 *
 * The sums are those of direct.h.  A tile is up to 16 pixels of a line of the
 * result times 16 output channels; two by two of them share what is loaded.  The
 * depth of one step is up to 32 numbers that lie one behind the other: channels,
 * and taps of a row side by side.  What is left of a line is done by a tile that
 * begins earlier, of which only the end is stored, so that nothing is read but
 * pixels.  What is left of the depth likewise: its weights begin with zeros.
 *
 * Input is read where it lies, unless taps lie outside of it or its channels are
 * odd and few; then the lines that a block needs are copied to scratch, within
 * zeros.
 */

#ifndef CODEGEN_CPU_KERNELS_MATRIX_MATRIX_H
#define CODEGEN_CPU_KERNELS_MATRIX_MATRIX_H

#include "codegen/cpu/emit/matrix.h"
#include "codegen/cpu/kernels/direct/direct.h"
#include "codegen/cpu/kernels/direct/shape.h"

#define CPU_MATRIX_COLUMNS 32 /* of two registers side by side */

typedef struct cpu_matrix {
    cpu_direct d; /* one line of all pixels where these have no neighbours */
    /* Of a line: tiles, and their pixels. */
    int64_t tiles;
    int rows;
    /* What blocks and threads count: `step` tiles, of which an image has `steps`. */
    int64_t steps, step;
    int64_t block;    /* steps of one */
    int taps;         /* of a row, that do not lie side by side */
    int64_t channels; /* of a pixel, as it is read */
    int64_t depth;    /* of what lies side by side */
    int unit;         /* of one multiplication; even */
    bool copies;      /* the input */
    int64_t in_w;     /* pixels of a line of it, as it is read */
    int64_t groups;   /* of CPU_MATRIX_COLUMNS output channels */
    bool by_channels; /* threads share groups, else steps */
} cpu_matrix;

/* False if it cannot be made so. */
bool glow_cpu_matrix_of(const cpu_target *t, const cpu_direct *d,
                        cpu_matrix *out);
/* Can it, and is it said to be, or faster than by tiles of vectors? */
bool glow_cpu_takes_matrix(const cpu_target *t, const cpu_direct *d);
double glow_cpu_matrix_cycles(const cpu_target *t, const cpu_matrix *m);
void glow_cpu_matrix_choices(const cpu_target *t, const cpu_direct *d,
                             const cpu_kernel *kernel, cpu_choices *to);

/* Multiplications for one tile. */
int64_t glow_cpu_matrix_chunks(const cpu_matrix *m);
/* Where the last multiplication of a depth begins, and what it leaves out. */
int64_t glow_cpu_matrix_last(const cpu_matrix *m, int64_t *done);
/* Registers side by side, and bytes of weights, of group `group`. */
int glow_cpu_matrix_beside(const cpu_matrix *m, int64_t group);
int64_t glow_cpu_matrix_bytes(const cpu_matrix *m, int64_t group);

/* Of the kernels. */
void glow_cpu_emit_matrix(cpu_job *j, const cpu_direct *d);
int64_t glow_cpu_matrix_units(const cpu_target *t, const cpu_direct *d);
int64_t glow_cpu_matrix_size(const cpu_target *t, const cpu_direct *d);
int64_t glow_cpu_matrix_room(const cpu_target *t, const cpu_direct *d);
void glow_cpu_pack_matrix(const cpu_target *t, const cpu_direct *d,
                          const cpu_filter *filter, void *to);

/*
 * Copies what the steps `first` to `end` of image `batch` read to scratch; returns
 * where the first line of the image would lie there.
 */
cg_value glow_cpu_matrix_copy(cpu_job *j, const cpu_matrix *m, cg_value image,
                              cg_value first, cg_value end);
/* Bytes of lines of which that many are made. */
int64_t glow_cpu_matrix_copied(const cpu_matrix *m);

/* Packs, when the code runs, `columns` columns from `from` on of rows of weights. */
void glow_cpu_matrix_pack_panel(cpu_job *j, const cpu_matrix *m, cg_value from,
                                int columns, cg_value to);

#endif

/*
 * Convolutions and matrix products of bfloat16 by matrix registers (AMX tiles;
 * codegen/cpu/emit/matrix.h), on targets that have them.
 *
 * The sums are defined in direct.h.  A tile is up to 16 pixels of a line of the
 * result times 16 output channels; blocks of two by two tiles share their
 * loads.  The depth of one multiplication is up to 32 contiguous elements:
 * channels, and adjacent taps of a row.  The tail of a line is computed by a
 * tile that overlaps the one before it, of which only the new pixels are
 * stored, so that no load goes beyond the pixels.  The tail of the depth
 * overlaps likewise: its weights begin with zeros.
 *
 * Input is read in place, unless taps are outside of it or its channels are odd
 * and few; then the lines of a block are copied to scratch, with zero padding.
 */

#ifndef CODEGEN_CPU_KERNELS_MATRIX_MATRIX_H
#define CODEGEN_CPU_KERNELS_MATRIX_MATRIX_H

#include "codegen/cpu/emit/matrix.h"
#include "codegen/cpu/kernels/direct/direct.h"
#include "codegen/cpu/kernels/direct/shape.h"

#define CPU_MATRIX_COLUMNS 32 /* columns of two registers */

typedef struct cpu_matrix {
    cpu_direct d; /* 1 x 1: flattened to one line of pixels */
    /* Of a line: tiles, and their pixels. */
    int64_t tiles;
    int rows;
    /*
     * Unit of blocks and of threads: a step of `step` tiles; an image has
     * `steps`.
     */
    int64_t steps, step;
    int64_t block;    /* steps of one */
    int taps;         /* of a row that are not contiguous, or 1 */
    int64_t channels; /* of a pixel, as it is read */
    int64_t depth;    /* contiguous elements that one tap reads */
    int unit;         /* of one multiplication; even */
    bool copies;      /* the input */
    int64_t in_w;     /* pixels of a line of it, as it is read */
    int64_t groups;   /* of CPU_MATRIX_COLUMNS output channels */
    bool by_channels; /* threads share groups, else steps */
} cpu_matrix;

/* False if matrix registers cannot compute `d`. */
bool glow_cpu_matrix_of(const cpu_target *t, const cpu_direct *d,
                        cpu_matrix *out);
/*
 * True if matrix registers can compute `d`, and either the target has a choice,
 * or register tiles of vectors need more than CPU_MOST_CODE or are slower.
 */
bool glow_cpu_takes_matrix(const cpu_target *t, const cpu_direct *d);
double glow_cpu_matrix_cycles(const cpu_target *t, const cpu_matrix *m);
void glow_cpu_matrix_choices(const cpu_target *t, const cpu_direct *d,
                             const cpu_kernel *kernel, cpu_choices *to);

/* Multiplications for one tile. */
int64_t glow_cpu_matrix_chunks(const cpu_matrix *m);
/*
 * The element of the depth at which the last multiplication begins; `done` is
 * set to the number of its elements that the one before has computed.
 */
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
 * Copies the lines of input of steps `first` to `end` of an image to scratch;
 * returns the address that line 0 of the image would have there.
 */
cg_value glow_cpu_matrix_copy(cpu_job *j, const cpu_matrix *m, cg_value image,
                              cg_value first, cg_value end);
/* Lines of scratch that glow_cpu_matrix_copy needs for a block. */
int64_t glow_cpu_matrix_copied(const cpu_matrix *m);

/*
 * Emits code that packs `columns` columns, from `from` on, of rows of weights.
 */
void glow_cpu_matrix_pack_panel(cpu_job *j, const cpu_matrix *m, cg_value from,
                                int columns, cg_value to);

#endif

/*
 * Convolutions and matrix products of bfloat16, and of float and float16 by parts, by
 * matrix registers (AMX tiles, or BFMMLA; codegen/cpu/emit/matrix.h), on targets that have them.
 *
 * The sums are defined in direct.h.  A tile is up to 16 pixels of a line of the
 * result times 16 output channels; blocks of two by two tiles share their
 * loads.  The depth of one multiplication is up to 32 contiguous elements:
 * channels, and adjacent taps of a row.  The tail of a line is computed by a
 * tile that overlaps the one before it, of which only the new pixels are
 * stored, so that no load goes beyond the pixels.  The tail of the depth
 * overlaps likewise: its weights begin with zeros.
 *
 * Copied lines of an image may be joined to one line, so that tiles go on from one to the
 * next: 7 x 7 results, whose lines are 8 pixels apart, take 4 tiles of 14 rows instead of 7
 * of 7.  A line's padding on the right is the next one's on the left, as far as both have
 * any.  Sums of pixels between the results of two lines are not stored.  Of a kernel of
 * 1 x 1 only the pixels are copied that it reads.
 *
 * Input is read in place, unless taps are outside of it, its channels are odd and few, a
 * part of a pixel's, or it is flat and fills much of the cache with pixels that are an even
 * number of cache lines apart; then the lines of a block are copied to scratch, with zero
 * padding.  Groups of a convolution are convolutions of their own, one after the other.
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
    int64_t block; /* steps of one */
    int taps;      /* of a row that are not contiguous, or 1 */
    /* All taps of a unit of the depth precede the next unit, so that the L1 cache holds the
       input that they share; else all the depth of a tap precedes the next tap. */
    bool taps_within;
    int64_t channels; /* of a pixel, as it is read */
    int64_t pixel;    /* bytes from one pixel to the next, as it is read */
    int64_t depth;    /* contiguous elements that one tap reads */
    int cuts;  /* of the depth, whose sums wait in scratch; `channels`, `depth`
                         and the bytes of weights are of one */
    int unit;  /* of one multiplication; even */
    bool flat; /* one line, whose steps are tiles */
    int parts; /* of a number: 2 or 3 of float, see parts.c; else 1 */
    int64_t line; /* bytes from one line of input to the next, as it is read */
    int64_t part; /* bytes from the first parts of a line to the second */
    bool copies;  /* the input */
    int64_t in_w; /* pixels of a line of it, as it is read */
    /* Lines of an image are one line, d.out_w pixels with those between them; d.out_h is 1. */
    bool joined;
    int64_t copy_h,
        copy_w;     /* strides of the copy; those of `d` are of what is read */
    int64_t groups; /* of CPU_MATRIX_COLUMNS output channels */
    bool by_channels; /* threads share groups, else steps */
    /* A group of a filter that is packed at run time is used for all images before the
       next, because the cache does not hold all of them; threads share groups. */
    bool by_groups;
    int64_t out_h, out_w; /* results of an image */
} cpu_matrix;

/* False if matrix registers cannot compute `d`. */
bool glow_cpu_matrix_of(const cpu_target *t, const cpu_direct *d,
                        cpu_matrix *out);
/*
 * True if matrix registers can compute `d`, and either the target has a choice,
 * or register tiles of vectors need more than CPU_MOST_CODE or are slower.
 */
bool glow_cpu_takes_matrix(const cpu_target *t, const cpu_direct *d);
/* True if their cycles are far fewer than those of vectors, or if they are wanted. */
bool glow_cpu_pays_matrix(const cpu_target *t, const glow_type *type,
                          double cycles, double vectors);
/* The same of `d`, and of another kernel that takes `cycles`. */
bool glow_cpu_prefers_matrix(const cpu_target *t, const cpu_direct *d,
                             double cycles);
double glow_cpu_matrix_cycles(const cpu_target *t, const cpu_matrix *m);
/*
 * Cycles of one unit of `unit` elements of the depth, of `rows` rows: of four products of
 * registers that share their operands, or of two, where `beside` is 1.
 */
double glow_cpu_matrix_unit_cycles(const cpu_target *t, int rows, int unit,
                                   int parts, int beside);
void glow_cpu_matrix_choices(const cpu_target *t, const cpu_direct *d,
                             const cpu_kernel *kernel, cpu_choices *to);

/* The text of a remark on floats by parts, see cpu_kernel; of bfloat16 none. */
void glow_cpu_matrix_remark(const cpu_target *t, const cpu_direct *d,
                            bool taken, glow_buf *b);
/* `t`, with parts wherever they pay if they could be taken: for remarks. */
cpu_target glow_cpu_parts_target(const cpu_target *t);
/* The same of any kernel, with its cycles by parts and by vectors; 0: it has none. */
void glow_cpu_parts_remark(const cpu_target *t, bool taken, double cycles,
                           double vectors, glow_buf *b);

/* Multiplications for one tile, of a cut. */
int64_t glow_cpu_matrix_chunks(const cpu_matrix *m);
/*
 * The element of the depth at which the last multiplication begins; `done` is
 * set to the number of its elements that the one before has computed.
 */
int64_t glow_cpu_matrix_last(const cpu_matrix *m, int64_t *done);
/*
 * Registers side by side, and bytes of weights, of group `group`.  The first parts
 * of each unit of the depth are before the second.
 */
int glow_cpu_matrix_beside(const cpu_matrix *m, int64_t group);
int64_t glow_cpu_matrix_bytes(const cpu_matrix *m, int64_t group);
/* Bytes of the private cache of a core that has such registers. */
int64_t glow_cpu_matrix_cache(const cpu_target *t);
/* Bytes of the weights of all groups, of a cut; of all cuts. */
int64_t glow_cpu_matrix_cut_bytes(const cpu_matrix *m);
int64_t glow_cpu_matrix_all_bytes(const cpu_matrix *m);
/* True if the cache holds the weights of a group beside the input of two tiles. */
bool glow_cpu_matrix_holds_group(const cpu_target *t, const cpu_matrix *m);
/*
 * Bytes of input that the groups of channels after the first read from beyond the cache,
 * because it does not hold the input of a block beside two groups of weights.
 */
double glow_cpu_matrix_input_again(const cpu_target *t, const cpu_matrix *m);
/* True if no cache keeps the weights: they are read again, and prefetched. */
bool glow_cpu_matrix_is_far(const cpu_target *t, const cpu_matrix *m);
/* Bytes of the sums of a pair of tiles. */
#define CPU_MATRIX_PAIR (2 * CPU_MATRIX_ROWS * CPU_MATRIX_COLUMNS * 4)
/* Bytes of scratch for sums that wait for the next cut, of a block. */
int64_t glow_cpu_matrix_sums(const cpu_matrix *m);

/* Of the kernels. */
void glow_cpu_emit_matrix(cpu_job *j, const cpu_direct *d);
int64_t glow_cpu_matrix_units(const cpu_target *t, const cpu_direct *d);
int64_t glow_cpu_matrix_size(const cpu_target *t, const cpu_direct *d);
int64_t glow_cpu_matrix_room(const cpu_target *t, const cpu_direct *d);
void glow_cpu_pack_matrix(const cpu_target *t, const cpu_direct *d,
                          const cpu_filter *filter, void *to);

/*
 * Copies the lines (or tiles) of input of steps `first` to `end` of an image to `at`;
 * returns the address that line 0 (or tile 0) of the image would have there.
 */
cg_value glow_cpu_matrix_copy(cpu_job *j, const cpu_matrix *m, cg_value image,
                              cg_value at, cg_value first, cg_value end);
/* The first pixel of tile `tile` of the only line. */
cg_value glow_cpu_matrix_tile(cg *g, const cpu_matrix *m, cg_value tile);
/* Bytes of scratch for copied or split input; INT64_MAX beyond. */
int64_t glow_cpu_matrix_input_room(const cpu_matrix *m);
/* Lines of scratch that glow_cpu_matrix_copy needs for a block. */
int64_t glow_cpu_matrix_copied(const cpu_matrix *m);

/*
 * Emits code that packs `columns` columns, from `from` on, of rows of weights that
 * are `row` bytes apart.  Returns true (an i1) if these are floats that are not safe,
 * or NULL.
 */
cg_value glow_cpu_matrix_pack_panel(cpu_job *j, const cpu_matrix *m,
                                    cg_value from, int64_t row, int columns,
                                    cg_value to);
/*
 * Emits code that packs operand 1, whose filter is m->d.turned, at the beginning of the
 * scratch; bytes of the scratch for that, or 0.
 */
void glow_cpu_matrix_turn(cpu_job *j, const cpu_matrix *m);
/* The same of the `columns` outputs of one group, if m->by_groups. */
void glow_cpu_matrix_turn_group(cpu_job *j, const cpu_matrix *m, cg_value group,
                                int columns);
int64_t glow_cpu_matrix_turned(const cpu_matrix *m);

/* Parts of floats, and of float16 as float: parts.c. */

/* The numbers that a run of code has split so far. */
typedef struct cpu_split {
    cg_value most, least; /* locals: vectors of magnitudes, as integers */
} cpu_split;

/* The parts of floats, as the bits of bfloat16. */
#define CPU_MOST_PARTS 3
typedef struct cpu_parts {
    cg_value part[CPU_MOST_PARTS];
} cpu_parts;

/* Numbers of a run of code, none yet. */
cpu_split glow_cpu_parts_begin(cg *g);
cpu_parts glow_cpu_parts_split(cg *g, const cpu_split *s, cg_value v,
                               int parts);
/*
 * The same of two vectors in words of 32 bits: the parts of `a` are their low halves, and
 * those of `b` the high ones.  Without `s` the numbers are not looked at.
 */
cpu_parts glow_cpu_parts_pairs(cg *g, const cpu_split *s, cg_value a,
                               cg_value b, int parts);
/* True (an i1) if no product of sums of the parts is safe; `least`: magnitude. */
cg_value glow_cpu_parts_unsafe(cg *g, const cpu_split *s, double least);
/* The same of weights, whose columns are the lanes: by the largest of each column. */
cg_value glow_cpu_parts_unsafe_columns(cg *g, const cpu_split *s);

/* Magnitude of input that is safe, or 0; of two parts and of three. */
#define CPU_LEAST_INPUT 0x1p-90
#define CPU_LEAST_OF_THREE 0x1p-64
#define CPU_LEAST_WEIGHT \
    0x1p-34 /* of the largest weight that a channel has, or 0 */
#define CPU_MOST_PART 0x1p62 /* of both */

/*
 * Splits the input of steps `first` to `end` of an image to `at`; returns the
 * address that line 0 (or tile 0) would have there, and in `flags` that of its
 * i32, which is not 0 where a line has numbers that are not safe.
 */
cg_value glow_cpu_matrix_split(cpu_job *j, const cpu_matrix *m, cg_value image,
                               cg_value at, cg_value first, cg_value end,
                               cg_value *flags);

/* Operands of tiles that are summed up by vectors: slow.c. */
typedef struct cpu_slow {
    cg_value image;   /* line 0 of the input */
    cg_value weights; /* of this group, if they are packed at compile time */
    cg_value raw;     /* an i1: these are all bits of the weights */
    cg_value plain;   /* else the weights, row-major */
    cg_value channel; /* the first of the group */
    int beside, columns;
    cg_value to;        /* rows of CPU_MATRIX_COLUMNS floats */
    cg_value from, has; /* sums to add to, like `to`; an i1: if there are any */
} cpu_slow;

/* Sums up the rows from `skip` on of the tile at pixel `x` of `line`. */
void glow_cpu_matrix_slow(cpu_job *j, const cpu_matrix *m, const cpu_slow *s,
                          cg_value line, cg_value x, cg_value skip);

/* Constant weights by parts: packs as glow_cpu_pack_matrix. */
bool glow_cpu_matrix_weights_safe(const cpu_direct *d, const cpu_filter *f);
/* Weight `i` from `from` on, of the kind of `d`: float or float16. */
float glow_cpu_matrix_weight(const cpu_direct *d, const void *from, int64_t i);
/* The parts of `w`; or all its bits, in two, so that they can be put together. */
void glow_cpu_matrix_parts_of(float w, bool safe, uint16_t to[CPU_MOST_PARTS]);

#endif

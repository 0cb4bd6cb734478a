/*
 * Sums of products of quantized elements, by dot products of 8 or 16 bits
 * (codegen/cpu/emit/dot.h): convolutions and matrix products.
 *
 * With X the elements of the input, zx its offset, W and zw those of the weights of
 * a result's channel, a sum over n taps and channels is
 *
 *     sum (X - zx)(W - zw) + bias
 *         = sum x w + (bias - z sum w + n z v) - v sum x
 *
 * where x = X - zx + z and w = W - zw + v are as the instruction takes them, and z
 * and v what is left of the offsets.  The bracket is the start value of a sum, made
 * once for each panel; the last term is computed only where some v of the panel is
 * not 0.  Taps outside of the input have X = zx.  All of it is modulo 2^32, as the
 * sums are.
 *
 *     form      x                            w                  z
 *     WIDE      X - zx, 16 bits              W or W - 128       0
 *     PAIRS     X - zx, 16 bits              W or W - 128       0
 *     UNSIGNED  X of ui8, X + 128 of i8      W or W - 128       zx, zx + 128
 *     SIGNED    X of i8, X - 128 of ui8      W or W - 128       zx, zx - 128
 *     .._ROWS   as the two before them
 *     TILES     X                            W or W - 128       zx
 *
 * v is zw, or zw - 128 where the weights are ui8.
 */

#ifndef CODEGEN_CPU_KERNELS_INTEGER_INTEGER_H
#define CODEGEN_CPU_KERNELS_INTEGER_INTEGER_H

#include "codegen/cpu/emit/dot.h"
#include "codegen/cpu/emit/matrix.h"
#include "codegen/cpu/kernels/common.h"

#define CPU_INTEGER_VECTORS 4 /* of a panel, at most */

/* Operands by channel of the result; -1: there is none, or that of the type. */
typedef struct cpu_integer_operands {
    int bias, scales, offsets, bias_scales, bias_offsets;
} cpu_integer_operands;

/* Strides of the weights, in elements. */
typedef struct cpu_integer_weights {
    int64_t group, output, row, tap, depth; /* row: of taps, in any plane */
} cpu_integer_weights;

typedef struct cpu_integer {
    /* The sums. */
    int64_t batch, groups;
    cpu_window_axis axis[3];   /* planes, lines, pixels */
    int64_t channels, outputs; /* of one group */
    const glow_type *x, *w, *y;
    int64_t in_pixel, out_pixel; /* elements from one pixel to the next */
    cpu_integer_operands by;
    bool packed; /* the weights, at compile time; else panel by panel */
    int64_t
        w_batch; /* elements from the weights of one image to the next, or 0 */
    cpu_integer_weights step;
    bool centered; /* all v are known to be 0 */
    bool columns; /* start values and ratios are packed, too, and all v are 0 */
    bool shrinks; /* ratios of results of 8 bits are known to be below 1 */
    bool narrow;  /* packed weights have 8 bits where products have 16 */
    bool widens;  /* and a block of lines widens a panel once, in scratch */

    cpu_dot form;
    /* Elements added up in a lane; lanes of a vector of sums. */
    int group, lanes;
    int x_zero; /* z */

    /* The access of the input. */
    bool flat;     /* pixels of all lines are one line, cut into tiles */
    bool copies;   /* lines are copied to scratch, with pads */
    int64_t pixel; /* bytes of a pixel as it is read */
    int64_t width; /* pixels of a copied line */
    int64_t line;  /* bytes of a line as it is read */
    int64_t plane; /* and of a plane */
    int64_t taps;  /* of a line that are not contiguous, or 1 */
    int64_t run;   /* contiguous elements of one tap */
    int64_t steps; /* dot products of them */

    /* Blocking. */
    int rows, vectors; /* mr, nr / lanes */
    int unit;          /* steps that are unrolled */
    int ahead;         /* cache lines of the next weights that they prefetch */
    int64_t panels;    /* of a group, the last one may be smaller */
    int64_t lines;     /* of the result, of an image and plane; flat: tiles */
    int64_t last_rows; /* flat: rows of the last tile */
    int64_t block;     /* lines of a block */
    bool by_panels;    /* threads share panels, else lines */
    bool
        panels_within; /* matrix registers: all panels for each pair of tiles */
} cpu_integer;

/* Chooses form, reading and blocking; `uses_matrix`: for matrix registers. */
void glow_cpu_integer_shape(const cpu_target *t, bool uses_matrix,
                            cpu_integer *s);

/* Steps that a loop over the depth repeats, by the tile. */
int glow_cpu_integer_unit(const cpu_target *t, const cpu_integer *s);

/* The convolution `n` of 8 bits, by this family's form and blocking; or false. */
bool glow_cpu_integer_convolution(const cpu_target *t, const glow_node *n,
                                  cpu_integer *out);

/* Bodies of the loop over the depth that a tile runs: `unit` steps each, or the rest. */
int64_t glow_cpu_integer_bodies(const cpu_integer *s);

/* Element `at` of the weights `from`, less 128 if they are ui8. */
int glow_cpu_integer_weight(const cpu_integer *s, const glow_tensor *from,
                            int64_t at);
/* Bytes of an element of packed weights. */
int glow_cpu_integer_weight_bytes(const cpu_integer *s);
/*
 * The vector of weights of `lanes` sums at `at`, widened if they are kept narrow, as
 * glow_cg_dot takes it.
 */
cg_value glow_cpu_integer_load_weights(cg *g, const cpu_integer *s, int lanes,
                                       cg_value at);

/* Vectors of panel `panel`; lanes of its last vector that are channels. */
int glow_cpu_integer_vectors(const cpu_integer *s, int64_t panel);
int glow_cpu_integer_last(const cpu_integer *s, int64_t panel);
/* Bytes of a vector of weights, and of `vectors` of them over the whole depth. */
int64_t glow_cpu_integer_vector(const cpu_integer *s);
int64_t glow_cpu_integer_panel(const cpu_integer *s, int vectors);
/* And those of such a panel in scratch, as products take it. */
int64_t glow_cpu_integer_wide_panel(const cpu_integer *s, int vectors);
/*
 * Bytes of the packed weights of a group; and of all, without the terms or columns
 * behind them, which are aligned to 8 bytes.
 */
int64_t glow_cpu_integer_group_weights(const cpu_integer *s);
int64_t glow_cpu_integer_weights(const cpu_integer *s);
/* Channels of all groups, each rounded up to vectors. */
int64_t glow_cpu_integer_columns(const cpu_integer *s);
/* Lines of input of one plane that `block` lines of the result need. */
int64_t glow_cpu_integer_copied(const cpu_integer *s);
/* Bytes of scratch of copied lines, and of panels packed at run time. */
int64_t glow_cpu_integer_copy_bytes(const cpu_integer *s);
int64_t glow_cpu_integer_scratch(const cpu_integer *s);

/*
 * Packs weights, [group][panel][plane and row of taps][tap][step][vector][lane], a
 * group of elements in each lane, then the columns, or for each the term -z sum w.
 */
int64_t glow_cpu_integer_packed_size(const cpu_integer *s);
void glow_cpu_integer_pack(const cpu_integer *s, const glow_node *n,
                           const glow_tensor *from, void *to);
/*
 * Emits code that packs a panel of weights, whose first channel is at `from`, to
 * `to`; terms[v] are the terms -z sum w of its channels.
 */
void glow_cpu_integer_pack_panel(cpu_job *j, const cpu_integer *s,
                                 cg_value from, int64_t panel, cg_value to,
                                 cg_value *terms);

/*
 * Copies the input of lines `first` to `end` of a plane of the result to scratch:
 * `image` is the input of the image, `z` the first plane of taps.  Returns the
 * address of the first pixel of line `first`.
 */
cg_value glow_cpu_integer_copy(cpu_job *j, const cpu_integer *s, cg_value image,
                               cg_value z, cg_value first, cg_value end);
/* Elements as the instruction takes them, of the elements X of the input. */
cg_value glow_cpu_integer_convert(cg *g, const cpu_integer *s, cg_value x);

/* Vectors of `lanes` channels. */
typedef struct cpu_integer_column {
    cg_value start;  /* of the sums: bias - z sum w + n z v */
    cg_value ratio;  /* float, or double: glow_cpu_integer_is_wide */
    cg_value offset; /* v; NULL: they are 0 */
} cpu_integer_column;

/*
 * Channels from `channel` on, of which `live` are; `term` is -z sum w.
 */
cpu_integer_column glow_cpu_integer_column(cpu_job *j, const cpu_integer *s,
                                           cg_value channel, int live,
                                           cg_value term);

/* Columns of constants: packed_columns.c. */

/* True if the offsets are constants, and all v are 0. */
bool glow_cpu_integer_is_centered(const glow_node *n, const cpu_integer *s);
/* True if that holds and all other operands by channel are constants, too. */
bool glow_cpu_integer_has_columns(const glow_node *n, const cpu_integer *s);
/*
 * True if those are constants, and results of 8 bits have ratios below 1, so that no sum
 * of 32 bits times its ratio leaves 32 bits.
 */
bool glow_cpu_integer_shrinks(const glow_node *n, const cpu_integer *s);
/* Bytes of `count` columns, start values before ratios; 0 unless s->columns. */
int64_t glow_cpu_integer_column_bytes(const cpu_integer *s, int64_t count);

/* The greatest of b and -b - 1 of all channels, b the bias in units of the sums; the
   operands are constants, or there is no bias: then it is 0. */
int64_t glow_cpu_integer_bias_reach(const glow_node *n, const cpu_integer *s);

/* Writes columns one after the other: of channel `channel`, or of none if it is -1;
   `sum` is that of its weights.  Start values are multiplied by `times` modulo 2^32,
   ratios by 2^-bits. */
typedef struct cpu_integer_packer {
    const cpu_integer *s;
    const glow_tensor *bias, *scales, *bias_scales, *bias_offsets; /* or NULL */
    uint8_t *start, *ratio;
    uint32_t times;
    int bits;
} cpu_integer_packer;

cpu_integer_packer glow_cpu_integer_packer(const cpu_integer *s,
                                           const glow_node *n, int64_t count,
                                           void *to);
void glow_cpu_integer_pack_column(cpu_integer_packer *p, int64_t channel,
                                  int64_t sum);
/* `lanes` of the `count` columns at `from`, from number `first` on. */
cpu_integer_column glow_cpu_integer_load_column(cg *g, const cpu_integer *s,
                                                int lanes, cg_value from,
                                                int64_t count, cg_value first);

/* True if results have 32 bits, and are made in double. */
bool glow_cpu_integer_is_wide(const cpu_integer *s);
/* Results of sums, as i32; and in the bits of an element. */
cg_value glow_cpu_integer_round(cg *g, const cpu_integer *s, cg_value sum,
                                cg_value ratio);
cg_value glow_cpu_integer_narrow(cg *g, const cpu_integer *s, cg_value y);
/* A vector of sums, of which `live` are stored at `at`. */
typedef struct cpu_integer_result {
    cg_value sum, ratio;
    cg_value at;
    int row; /* the vectors of one are contiguous, from the first on */
    int live;
} cpu_integer_result;

/* Stores the results of `count` vectors of s->lanes sums; only the last vector of
   a row may be partly live. */
void glow_cpu_integer_store(cg *g, const cpu_integer *s,
                            const cpu_integer_result *r, int count);
/*
 * The results of four vectors of sums, packed to 8 bits within each 16 bytes; NULL:
 * there are no such instructions for them.
 */
cg_value glow_cpu_integer_pack_results(cg *g, const cpu_integer *s,
                                       cg_value const *sum,
                                       cg_value const *ratio);
/* The results of two vectors of sums that were interleaved within each 16 bytes, in
   their order; NULL: as above. */
cg_value glow_cpu_integer_pack_pair(cg *g, const cpu_integer *s,
                                    cg_value const *sum, cg_value const *ratio);

/* True if some element of `x`, a vector of integers, is not 0. */
cg_value glow_cpu_integer_any(cg *g, cg_value x);

/*
 * Sums of `rows` rows times `vectors` vectors, added to acc[row * vectors +
 * vector]; `in` is the address of the first row, `w` of the panel.  With `w` NULL
 * the weights are 1: vectors is 1, and each lane has the sum of x of a row.  With
 * `next` not NULL every s->unit steps prefetch s->ahead cache lines from there on.
 */
void glow_cpu_integer_sum(cg *g, const cpu_integer *s, int rows, int vectors,
                          cg_value in, cg_value w, cg_value next,
                          cg_value *acc);

/* A panel at hand, and the block of lines that it is multiplied by. */
typedef struct cpu_integer_panel_at {
    cg_value weights;
    cg_value in;    /* the first pixel of the block, of the group */
    cg_value first; /* its line */
    cg_value image; /* number of the first result of the plane */
    cg_value group;
    cg_value channel; /* the first, of all */
    int vectors, last;
    cpu_integer_column column[CPU_INTEGER_VECTORS];
    cg_value has_offsets; /* i1: some v is not 0; NULL: it is known */
} cpu_integer_panel_at;

/* Bytes from one tap of an axis to the next, as the input is read. */
int64_t glow_cpu_integer_apart(const cpu_integer *s, int axis);

/* Matrix registers: matrix.c. */
bool glow_cpu_integer_takes_matrix(const cpu_target *t, const cpu_integer *s);
/* Bytes of weights of 1, at the end of the packed ones; packs them. */
int64_t glow_cpu_integer_ones(const cpu_integer *s);
void glow_cpu_integer_pack_ones(const cpu_integer *s, uint8_t *to);
/* A panel with its columns by the lines of the block up to `end`. */
void glow_cpu_integer_matrix_panel(cpu_job *j, const cpu_integer *s,
                                   const cpu_integer_panel_at *p, cg_value end);
/*
 * Panels `low` to `high`, of packed columns, by them: `p` has the weights and the channel
 * of panel 0 of the group.  There is at least one panel.
 */
void glow_cpu_integer_matrix_panels(cpu_job *j, const cpu_integer *s,
                                    const cpu_integer_panel_at *p, cg_value low,
                                    cg_value high, cg_value end);

/* Depthwise convolutions, after glow_cpu_integer_shape: depthwise.c. */
bool glow_cpu_is_depthwise(const cpu_target *t, const cpu_integer *s);
void glow_cpu_depthwise_shape(cpu_integer *s);
int64_t glow_cpu_depthwise_packed_size(const cpu_integer *s);
void glow_cpu_depthwise_pack(const cpu_integer *s, const glow_node *n,
                             const glow_tensor *from, void *to);
int64_t glow_cpu_depthwise_scratch(const cpu_integer *s);
void glow_cpu_emit_depthwise(cpu_job *j, const cpu_integer *s);

/* Any quantized elements, after no shape: plain.c. */
void glow_cpu_emit_plain_integer(cpu_job *j, const cpu_integer *s);

void glow_cpu_emit_integer(cpu_job *j, const cpu_integer *s);
int64_t glow_cpu_integer_units(const cpu_integer *s);

#endif

/*
 * Winograd's convolution of quantized elements of 8 bits, exact in integers modulo
 * 2^32: F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3) at the points 0, 1, -1 (2, -2) and
 * infinity.  winograd.h has the algorithm for floats.
 *
 *     y = A' [(G w G') * (B' d B)] A        d = x - offset, |d| <= 255
 *
 * B' is of integers.  The rows of G and the columns of A' are multiplied by factors
 * that make them integers too, so that the sum over channels T is y times a power of
 * 2, and of 9 in F(4), modulo 2^32:
 *
 *     F(4)    B'                    G                A', and the factors of its rows
 *             4  0 -5  0  1  0      6  0  0          1 -4 -4  1  1  0    24
 *             0 -4 -4  1  1  0      1  1  1          0 -2  2  1 -1  0    12
 *             0  4 -4 -1  1  0      1 -1  1          0 -1 -1  1  1  0     6
 *             0 -2 -1  2  1  0      1  2  4          0 -1  1  2 -2  1     6
 *             0  2 -1 -2  1  0      1 -2  4
 *             0  4  0 -5  0  1      0  0  6
 *
 *     F(2)    1  0 -1  0            2  0  0          1  1  1  0           2
 *             0  1  1  0            1  1  1          0  1 -1 -1           2
 *             0 -1  1  0            1 -1  1
 *             0  1  0 -1            0  0  2
 *
 * 16 bits hold B' x B of elements x, at most 10 * 10 * 255, and G w G', at most
 * 7 * 7 * 128, which are multiplied by dot products of 16 bits.  9 has an inverse modulo
 * 2^32, which is multiplied by the power of 2 that a factor has less than the greatest,
 * 2^s: all results become 2^s y.  They are exact if they fit 32 bits: |y| < 2^25 in F(4),
 * s = 6, and 2^29 in F(2), s = 2.  The bound follows at compile time from the weights and
 * the bias of each channel and the range of d.  The scale of a result is divided by 2^s,
 * so that it is rounded as y would be.
 *
 * The elements are transformed as they are stored.  The start value b = bias - offset *
 * sum w of a channel is added at one point before the output transform, because a
 * constant has one point that is not 0: T(1, 1) += c^2 b, where c is 2 in F(2), -6 in
 * F(4).  So the sums, and the results, have the bits of every other kernel.
 */

#ifndef CODEGEN_CPU_KERNELS_WINOGRAD_INTEGER_H
#define CODEGEN_CPU_KERNELS_WINOGRAD_INTEGER_H

#include "codegen/cpu/kernels/integer/integer.h"
#include "codegen/cpu/kernels/winograd/make.h"

#define CPU_INTEGER_POINTS 6 /* in one direction */

/*
 * A convolution, its tiles and blocks, and the products at one point as sums whose
 * rows are tiles: [tile][channel] by [channel][output].
 */
typedef struct cpu_winograd_integer {
    cpu_winograd
        w; /* in_pitch and in_plane of i16; out_pitch and out_plane of the
                       sums of a panel */
    cpu_integer s;
} cpu_winograd_integer;

/*
 * The convolution `n` by F(m), m is 2 or 4; false if it is none of 3 x 3 and stride
 * 1 on elements of 8 bits with constant weights.  No constant is read, so this can be
 * called when their elements are packed and gone.
 */
bool glow_cpu_winograd_integer_of(const cpu_target *t, const glow_node *n,
                                  int m, cpu_winograd_integer *out);
/*
 * True if it pays, by options, choice and cost model, the offset of the weights is the
 * middle of their kind, and the sums are within the bound.
 */
bool glow_cpu_winograd_integer_takes(const cpu_target *t, const glow_node *n,
                                     int m);
/* The text of a remark on F(m): see cpu_kernel. */
void glow_cpu_winograd_integer_remark(const cpu_target *t, const glow_node *n,
                                      int m, bool taken, glow_buf *b);
/* Adds the choices of `n` by `kernel`, which is that of F(m): see cpu_kernel. */
void glow_cpu_winograd_integer_choices(const cpu_target *t,
                                       const cpu_kernel *kernel,
                                       const glow_node *n, int m,
                                       cpu_choices *to);
/*
 * The units of a group: tiles, or panels of outputs where the transform of the input
 * is less work than reading all weights.
 */
bool glow_cpu_winograd_integer_by_panels(const cpu_target *t,
                                         const cpu_winograd_integer *x);
int64_t glow_cpu_winograd_integer_units(const cpu_target *t,
                                        const cpu_winograd_integer *x);
/* Rows of tiles of scratch: those of a block, rounded up to register tiles. */
int64_t glow_cpu_winograd_integer_rows(const cpu_winograd_integer *x);
int64_t glow_cpu_winograd_integer_scratch(const cpu_winograd_integer *x);
/* Bytes of the line of pads in scratch, which is read above and below the image. */
int64_t glow_cpu_winograd_integer_pads(const cpu_winograd_integer *x);
/* Channels of all groups, each rounded up to vectors. */
int64_t glow_cpu_winograd_integer_columns(const cpu_winograd_integer *x);

/* The input transform of the tiles of a block: integer_input.c. */
void glow_cpu_winograd_integer_input(cpu_winograd_maker *m,
                                     const cpu_winograd_integer *x);

/* The bound of y, which is exact in -bound to bound - 1: as the head says. */
int64_t glow_cpu_winograd_integer_bound(const cpu_winograd_integer *x);
/*
 * The greatest of y and -y - 1 of all channels, without the bias; `weights` is NULL: of
 * any weights of the kind.  Results are exact if it and the bias are below the bound.
 */
int64_t glow_cpu_winograd_integer_reach(const cpu_winograd_integer *x,
                                        const int8_t *weights);

/*
 * Packed weights, [group][panel][point][step][vector][lane], a group of i16 each, and
 * columns behind them; the bytes of the weights alone.
 */
int64_t glow_cpu_winograd_integer_weights(const cpu_winograd_integer *x);
int64_t glow_cpu_winograd_integer_packed_size(const cpu_winograd_integer *x);
void glow_cpu_winograd_integer_pack(const cpu_winograd_integer *x,
                                    const glow_node *n, const glow_tensor *from,
                                    void *to);

/* y = B' x for n vectors of i16, modulo 2^16. */
void glow_cpu_integer_form_input(cg *g, int m, cg_value const *x, cg_value *y);
/*
 * Point 1 of B' x for a constant x of 1; all others are 0.  Products that are it times
 * the factors of A' at point 1, and 0 at all others, are the transform of results of 1.
 */
int glow_cpu_integer_form_constant(int m);
/* y = A' x: m vectors of n, of i32, modulo 2^32. */
void glow_cpu_integer_form_output(cg *g, int m, cg_value const *x, cg_value *y);
/* s, so that glow_cpu_integer_form_divide gives 2^s y. */
int glow_cpu_integer_form_bits(int m);
/* 2^s y of the product T of two such transforms, for result j of line `line`. */
cg_value glow_cpu_integer_form_divide(cg *g, int m, int line, int j,
                                      cg_value t);
/* to[i * n + j] = (G w G')[i][j], w[3 * row + column]. */
void glow_cpu_integer_form_weights(int m, const int *w, int *to);

#endif

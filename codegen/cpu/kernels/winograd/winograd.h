/*
 * Winograd's convolution F(m x m, r x s): m x m results of a convolution with
 * r x s taps by (m + r - 1)(m + s - 1) multiplications for each channel, where the
 * taps take r s m^2.  Axes have 3, 5 or 7 taps, or one of them has 1 tap: then a tile
 * has one result in its direction, and the transforms of the other axis are all.
 *
 *     y = A' [(G w G') * (B' x B)] A        elementwise, summed over channels
 *
 * x is a tile of m + r - 1 by m + s - 1 pixels, tiles overlap by r - 1 and s - 1.
 * G w G' is computed at compile time; the products of all tiles at one of the points
 * are one matrix product.  Source: Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks", arXiv 1509.09308; Toom and Cook's algorithm
 * at the points 0, +-a, ... and infinity.
 *
 * The points of F(4, 3) and F(2, 5) are 0, +-1/sqrt 2, +-sqrt 2: the usual 0, +-1, +-2
 * lose two to six times as much.  Those of F(2, 7) and F(4, 5) add +-1/2 and +-2 to 0 and
 * +-1; of F(4, 7) they are +-sqrt of 1/5, 3/5, 5/3 and 5, the best of 60 that were drawn.
 * Of the range of the result the error is at most
 *
 *     rms 5e-6, max 1e-5
 *
 * if the input and the weights have no outliers: it is relative to the largest
 * result nearby, not to each result.  One infinity or NaN in a tile becomes NaN
 * in all results of it, so up to m - 1 pixels beyond the results that
 * depend on it.
 *
 * Numbers of 16 bits are decoded by the input transform, and filters when they are
 * packed: points and products are float, and results are rounded once, at the end.
 */

#ifndef CODEGEN_CPU_KERNELS_WINOGRAD_WINOGRAD_H
#define CODEGEN_CPU_KERNELS_WINOGRAD_WINOGRAD_H

#include "codegen/cpu/kernels/common.h"

/* In one direction; of both, the points of F(4 x 4, 3 x 3) are the most. */
#define CPU_MOST_TAPS 7
#define CPU_MOST_POINTS 10
#define CPU_MOST_PAIRS 4
#define CPU_MOST_SQUARE 36

/*
 * One F(m, taps).  The points are 0, +-point[0], +-point[1], ..., infinity; of one tap
 * there is one point, and m is 1.
 */
typedef struct cpu_form {
    int m, taps, n; /* n = m + taps - 1: pixels of a tile, and points */
    int pairs;
    double point[CPU_MOST_PAIRS];
    double all[CPU_MOST_PAIRS + 1]; /* coefficients of the product of all
                                       t - point^2, in t */
    double but[CPU_MOST_PAIRS][CPU_MOST_PAIRS]; /* of all but one */
    double g[CPU_MOST_POINTS][CPU_MOST_TAPS];
} cpu_form;

/* For m = 2 and 4, and 1, 3, 5 or 7 taps. */
cpu_form glow_cpu_form(int m, int taps);

/* y = B' x for n vectors, of which NULL are zeros. */
void glow_cpu_form_input(cg *g, const cpu_form *f, cg_value const *x,
                         cg_value *y);
/* y = A' x: m vectors of n. */
void glow_cpu_form_output(cg *g, const cpu_form *f, cg_value const *x,
                          cg_value *y);
/*
 * to[i * h->n + j] = (G w G')[i][j] by the forms of the horizontal and the vertical
 * axis, w[row * h->taps + column].
 */
void glow_cpu_form_weights(const cpu_form *h, const cpu_form *v,
                           const double *w, double *to);

/*
 * A convolution and its blocking: blocks of tiles, row by row, whose
 * transformed input and products stay in the cache.  The blocking depends on
 * the target only by its cache.
 *
 * A kernel with dilation d reads each d-th pixel, so the convolution is d * d
 * convolutions without dilation, one for each first pixel: its phases.
 */
typedef struct cpu_winograd {
    int m_h, m_w, n_h, n_w; /* results and pixels of a tile */
    int taps_h, taps_w;
    int64_t batch, groups;
    int64_t in_h, in_w, out_h, out_w, pad_h, pad_w;
    int64_t channels, outputs;  /* of one group */
    int64_t pixel;              /* bytes from one pixel of input to the next */
    int64_t apart_h, apart_w;   /* pixels from one to the next of a tile */
    int64_t phases_h, phases_w; /* first pixels: phases of an axis */
    int64_t tiles_h, tiles_w;   /* of one image and phase */
    int64_t block;              /* tiles; of all phases and images */
    int64_t in_pitch, in_plane; /* bytes of the transformed input: from a tile
                                    to the next, from a point to the next */
    int64_t out_pitch, out_plane; /* of the products */
} cpu_winograd;

/*
 * Bytes of a row of `row` bytes, padded: rows whose distance is a multiple of 2048
 * bytes conflict in the sets of the L1 cache.
 */
int64_t glow_cpu_winograd_pitch(int64_t row);
/*
 * Bytes of a plane of `tiles` rows: an odd number of lines, because points conflict
 * likewise.
 */
int64_t glow_cpu_winograd_plane(int64_t tiles, int64_t pitch);
/*
 * The tiles of F(m) of a window of stride 1, without pixel, pitches and blocks; false if
 * no F(m) has its taps, or there is nothing to do.
 */
bool glow_cpu_winograd_window(const cpu_window *win, int64_t groups,
                              int64_t outputs, int m, cpu_winograd *out);
/*
 * False if `n` is not a convolution of stride 1 with a constant filter, or F(m) does not
 * have its taps; m is 2 or 4.
 */
bool glow_cpu_winograd_of(const cpu_target *t, const glow_node *n, int m,
                          cpu_winograd *out);
/* The form and blocking of `n`; false to leave `n` to other kernels. */
bool glow_cpu_winograd_choice(const cpu_target *t, const glow_node *n,
                              cpu_winograd *out);
/* Adds the choices of `n` by `kernel`, conv_winograd: see cpu_kernel. */
void glow_cpu_winograd_choices(const cpu_target *t, const cpu_kernel *kernel,
                               const glow_node *n, cpu_choices *to);
/* The text of a remark: see cpu_kernel. */
void glow_cpu_winograd_remark(const cpu_target *t, const glow_node *n,
                              bool taken, glow_buf *b);
/* Points of a tile. */
static inline int
glow_cpu_winograd_points(const cpu_winograd *w)
{
    return w->n_h * w->n_w;
}

/* Rows of tiles, columns of tiles, and tiles in all. */
static inline int64_t
glow_cpu_winograd_rows(const cpu_winograd *w)
{
    return w->batch * w->phases_h * w->tiles_h;
}

static inline int64_t
glow_cpu_winograd_columns(const cpu_winograd *w)
{
    return w->phases_w * w->tiles_w;
}

static inline int64_t
glow_cpu_winograd_tiles(const cpu_winograd *w)
{
    return glow_cpu_winograd_rows(w) * glow_cpu_winograd_columns(w);
}

/* Bytes of the line of zeros that is read above and below the image. */
int64_t glow_cpu_winograd_zeros(const cpu_winograd *w);
/* Scratch bytes. */
int64_t glow_cpu_winograd_room(const cpu_winograd *w);

/* The register tile of the products: tiles times vectors of channels. */
typedef struct cpu_product {
    int lanes, rows, blocks;
    int64_t full; /* groups of `blocks` vectors */
    int rest;     /* vectors of one more, or 0 */
} cpu_product;
cpu_product glow_cpu_winograd_product(const cpu_target *t,
                                      const cpu_winograd *w);
/*
 * The units of a group: tiles, or groups of vectors of outputs where that is
 * faster.
 */
bool glow_cpu_winograd_by_outputs(const cpu_target *t, const cpu_winograd *w);
int64_t glow_cpu_winograd_units(const cpu_target *t, const cpu_product *p,
                                const cpu_winograd *w);
/* Bytes of the transformed weights. */
int64_t glow_cpu_winograd_weights(const cpu_product *p, const cpu_winograd *w);

#endif

/*
 * An accelerator of VTA's class: its operators, the pass that forms them, and its
 * backend.
 *
 * Tensors are [N, H, W, C] of i8, without offset, with scales whose ratios are powers
 * of two, and C a multiple of 16.
 */

#ifndef VTA_H
#define VTA_H

#include <glow/backend.h>
#include <glow/ops.h>
#include <glow/pass.h>
#include <glow/target.h>
#include <glow/tiling.h>

#include "stream.h"

/*
 * Weights [results / 16, channels / 16 / Group, taps, 16, 16]: blocks of 16 results by
 * 16 channels.  Bias [results] of i32 in units of the sum.  Results are held to Least
 * .. Most, which are elements.
 */
typedef struct vta_conv {
    glow_dims kernels, strides, pads, dilation; /* of rank 2, 2, 4, 2 */
    int64_t group;
    int64_t macs; /* multiply-adds without padding of channels */
    int least, most;
} vta_conv;

typedef struct vta_pool {
    glow_dims kernels, strides, pads; /* of rank 2, 2, 4 */
} vta_pool;

typedef struct vta_add {
    int least, most;
} vta_add;

/* Of the operators of units, sum.c. */
typedef struct vta_sum {
    glow_dims kernels, strides, pads, dilation; /* of rank 2, 2, 4, 2 */
} vta_sum;

typedef struct vta_requantize {
    int shift, least, most;
} vta_requantize;

extern const glow_op vta_op_conv, vta_op_pool, vta_op_add;
extern const glow_op vta_op_sum, vta_op_scale, vta_op_max, vta_op_requantize,
    vta_op_store;
extern const glow_pass vta_pass_form_units;
/* Patterns of vta.units, for form-units of glow. */
extern const glow_rewrite_row vta_units[];
extern const glow_backend vta_backend, vta_backend_units;

/*
 * The iteration space of an operator of units over batch, rows, columns and blocks of
 * results; `dims` are those of the result and of operands like it.
 */
void vta_tile_result(const glow_node *n, glow_tiling *t, glow_tile_dim dims[]);
/* True, and *shift set, if from / to is 2^-shift, and shift is from -31 to 31. */
bool vta_shift(double from, double to, int *shift);
/* Of a vta.Conv: from units of the sum to those of the result. */
bool vta_conv_shift(const glow_type *x, const glow_type *w, const glow_type *y,
                    int *shift);
/*
 * Of a vta.Add: a * 2^up[0] + b * 2^up[1], shifted right by *shift, is the sum in units
 * of the result.
 */
bool vta_add_shifts(const glow_type *a, const glow_type *b, const glow_type *y,
                    int up[2], int *shift);

/* A window over an input, in blocks of 16 channels. */
typedef struct vta_window {
    int64_t batch, height, width, blocks; /* of the input */
    int64_t out_height, out_width, out_blocks;
    int64_t groups;
    int64_t kernel[2], stride[2], dilation[2], before[2];
    int64_t vectors; /* constants of a block of results: bias, rounds */
} vta_window;

/* Results along an axis of `in` elements, and `pads` of padding at both ends together. */
int64_t vta_results(int64_t in, int64_t kernel, int64_t stride,
                    int64_t dilation, int64_t pads);
vta_window vta_window_of(const glow_node *n);
vta_window vta_window_of_dims(glow_dims kernels, glow_dims strides,
                              glow_dims pads, glow_dims dilation,
                              int64_t groups, glow_dims x, glow_dims y);
/* Adds to `sum` the products of one pixel and block of results, 16 lanes at once. */
void vta_sum_block(const vta_window *w, const int8_t *x, const int8_t *weights,
                   int64_t batch, int64_t row, int64_t column, int64_t block,
                   int32_t *sum);

/*
 * Tiles of a convolution: rows and columns of results, blocks of results and of
 * channels.  Loops over channels are innermost.
 */
typedef struct vta_tile {
    int64_t rows, columns, results, channels;
    bool
        weights_outer; /* the loop over results is outside of that over pixels */
    int64_t inp_slots, wgt_slots, acc_slots, bias_slots;
    int64_t inp_size, wgt_size, acc_size; /* elements of a slot */
    double price;                         /* expected cycles, and a little */
} vta_tile;

/*
 * Elements of the input along axis `i` that a tile of `results` results loads; of a
 * kernel of one element those alone that it reads.
 */
int64_t vta_span(const vta_window *w, int i, int64_t results);
/* The same of `n` results from `at` on, without padding. */
int64_t vta_read_elements(const vta_window *w, int i, int64_t at, int64_t n);
/* The tile of least expected cycles; false: none fits. */
bool vta_tile_conv(const vta_window *w, const vta_config *c, bool doubled,
                   vta_tile *out);

/* Byte offsets in DRAM of operands and result of a node. */
typedef struct vta_places {
    int64_t in[4], out;
} vta_places;

/* Add the instructions of a node; false: no tile fits the scratchpads. */
bool vta_emit_conv(vta_stream *s, const glow_node *n, const vta_places *p,
                   const vta_config *c, bool doubled);
bool vta_emit_pool(vta_stream *s, const glow_node *n, const vta_places *p,
                   const vta_config *c, bool doubled);
bool vta_emit_add(vta_stream *s, const glow_node *n, const vta_places *p,
                  const vta_config *c, bool doubled);

/* Multiply-adds of 16 x 16 blocks that the instructions of a node do. */
int64_t vta_gemm_steps(const glow_node *n);

#endif

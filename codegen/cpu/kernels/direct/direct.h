/*
 * Sums over taps and depth, by register tiles: what convolutions, plain and
 * transposed, and matrix products have in common.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_DIRECT_H
#define CODEGEN_CPU_KERNELS_DIRECT_DIRECT_H

#include "codegen/cpu/kernels/common.h"

/*
 * How numbers are summed up.  Of few outputs the sums are dot products: the depth is
 * counted in vectors of the input, and the lanes of a sum are added up in the end
 * (dots.h).  Of 16 bits, pairs of bfloat16 are what the depth is counted in: two of
 * the input by two of the weights in each lane.  Else weights are kept as they are,
 * and become float where they are loaded.
 */
typedef enum cpu_numbers {
    CPU_FLOATS, /* weights are float; lanes are outputs */
    CPU_DOTS,
    CPU_PAIRS,
    CPU_NARROW,
} cpu_numbers;

#define CPU_MOST_CODE 24000 /* multiplications written out in one kernel */

/* Where weight (group, output, row of taps, depth, tap) lies: in elements. */
typedef struct cpu_filter {
    const glow_tensor *from;
    int64_t first, group, output, row, depth, tap;
} cpu_filter;

/*
 * Pads may be negative: the first tap then lies behind the first element.  With
 * a kernel of no tap the results are the bias.
 */
typedef struct cpu_direct {
    int64_t batch, groups;
    int64_t in_h, in_w, out_h, out_w;
    int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_h, pad_w;
    int64_t channels, outputs; /* of one group */
    int64_t pixel;             /* bytes from one pixel of input to the next */
    bool packed;
    bool may_dot;             /* weights are constant */
    const cpu_filter *turned; /* of operand 1, which is float and has depths
                                 side by side: packed when it runs; or NULL */
    int64_t w_batch; /* bytes; unpacked weights: row-major [depth, outputs] */
    int bias;        /* operand, or -1 */
    const glow_type *type; /* of the input */
    int64_t w_first;       /* byte of the packed weights where these begin */
    /*
     * Where the results lie, in pixels: the first, and from image to image, line
     * to line and pixel to pixel.  0 in apart_w: one behind the other.
     */
    int64_t first, image, apart_h, apart_w;
    /* Of pixels without neighbours, see glow_cpu_flattened; else 0. */
    int rows;                /* of a tile */
    int64_t last_w, last_in; /* pixels of the last line: results, input */
    int64_t cut; /* of the depth, summed up for all results at once; 0: all */
    cpu_numbers numbers; /* see narrow.h: glow_cpu_flattened says which */
    bool odd;    /* the last pair is a single number, or vector not whole */
    int dots;    /* lanes of the vectors that the depth is counted in, or 0 */
    int tail;    /* of the last of them, where odd */
    bool widens; /* input of 16 bits becomes float in scratch, block by block */
} cpu_direct;

/*
 * The sums of a convolution, and of any product, and where their constant weights
 * come from.  False if there are three spatial axes that matter.
 */
bool glow_cpu_conv_of(const glow_node *n, cpu_direct *out);
cpu_direct glow_cpu_product_of(const glow_node *n);
cpu_filter glow_cpu_conv_filter(const cpu_direct *d, const glow_tensor *from);
cpu_filter glow_cpu_product_filter(const cpu_direct *d,
                                   const glow_tensor *from);

/*
 * Bytes from one row of `depth` elements to the next, where operand `i` of `n`
 * lies as such rows at one step; 0 if it does not, or if anything else of `n` is
 * not dense or not of float.
 */
int64_t glow_cpu_row_bytes(const glow_node *n, int i, int64_t depth);

/* Multiplications that are written out; INT64_MAX: it cannot be made. */
int64_t glow_cpu_direct_code(const cpu_target *t, const cpu_direct *d);
void glow_cpu_emit_direct(cpu_job *j, const cpu_direct *d);
int64_t glow_cpu_direct_units(const cpu_target *t, const cpu_direct *d);

/* Adds ways to make it by `kernel`, which takes it. */
void glow_cpu_direct_choices(const cpu_target *t, const cpu_direct *d,
                             const cpu_kernel *kernel, cpu_choices *to);
/* Cycles, as the target's choice has it. */
double glow_cpu_direct_cycles(const cpu_target *t, const cpu_direct *d);

/* Bytes of packed weights, and the making of them; returns where they end. */
int64_t glow_cpu_direct_size(const cpu_target *t, const cpu_direct *d);
void *glow_cpu_pack_direct(const cpu_target *t, const cpu_direct *d,
                           const cpu_filter *filter, void *to);
/* Bytes to work in; with weights that are packed when it runs. */
int64_t glow_cpu_direct_room(const cpu_target *t, const cpu_direct *d);
int64_t glow_cpu_turned_room(const cpu_target *t, const cpu_direct *d);

#endif

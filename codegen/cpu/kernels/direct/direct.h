/*
 * Sums over taps and depth, by register tiles: the common form of convolutions,
 * transposed convolutions and matrix products.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_DIRECT_H
#define CODEGEN_CPU_KERNELS_DIRECT_DIRECT_H

#include "codegen/cpu/kernels/common.h"

/*
 * Form of the sums.  For few outputs they are dot products: an element of the
 * depth is a vector of input, and the lanes of a sum are added up in the end
 * (dots.h).  For bfloat16 on targets that multiply pairs, an element of the
 * depth is a pair: two of the input by two of the weights in each lane.  Else
 * weights of 16 bits are kept, and converted to float where they are loaded.
 */
typedef enum cpu_numbers {
    CPU_FLOATS, /* weights are float; lanes are outputs */
    CPU_DOTS,
    CPU_PAIRS,
    CPU_NARROW,
} cpu_numbers;

#define CPU_MOST_CODE 24000 /* unrolled multiplications of a kernel */

/*
 * Strides of the filter, in elements, by group, output, row of taps, depth and
 * tap; `first` is the offset of the first weight.
 */
typedef struct cpu_filter {
    const glow_tensor *from;
    int64_t first, group, output, row, depth, tap;
} cpu_filter;

/* The form of the sums, which glow_cpu_with_numbers chooses; see narrow.h. */
typedef struct cpu_sum_form {
    cpu_numbers numbers;
    bool odd; /* the last pair is a single number, or vector not whole */
    int dots; /* dot products: lanes of a vector of the depth; else 0 */
    int tail; /* lanes of the last of them, if odd */
} cpu_sum_form;

/* Pixels cut into lines of whole tiles by glow_cpu_flattened; else zeros. */
typedef struct cpu_flat_lines {
    int rows;                /* of a tile */
    int64_t last_w, last_in; /* pixels of the last line: results, input */
    /* Of the depth, summed up at once for all results, and for those of a panel; 0: all. */
    int64_t cut, near;
    /* Bytes between pixels of the operand, where each part of the depth is copied to
       scratch, in which they are `pixel` bytes apart; 0: in place. */
    int64_t from;
} cpu_flat_lines;

/* Filters that are no constants, by their elements beside each other. */
typedef enum cpu_turns {
    CPU_CONSTANT, /* or a row-major right operand */
    CPU_TURNS_DEPTHS,
    CPU_TURNS_OUTPUTS,
} cpu_turns;

/*
 * A sum as its kernel states it, then as the planner blocks it (`form`, `flat`).
 * Pads may be negative: the first tap is then inside of the input.  With a
 * kernel of no tap the results are the bias.
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
    const cpu_filter *turned; /* operand 1, packed at run time; or NULL */
    cpu_turns turns;          /* of matrix/, and of transposed convolutions */
    bool by_panels;  /* `turned` is packed for each panel and block of lines */
    int64_t w_batch; /* bytes; unpacked weights: row-major [depth, outputs] */
    int bias;        /* operand, or -1 */
    const glow_type *type; /* of the input */
    int64_t w_first; /* byte offset of its weights in the packed weights */
    /*
     * Positions of the results, in pixels: the first, and strides between
     * images, lines and pixels.  0 in apart_w: contiguous.
     */
    int64_t first, image, apart_h, apart_w;
    bool widens; /* input of 16 bits becomes float in scratch, block by block */
    cpu_sum_form form;
    cpu_flat_lines flat;
} cpu_direct;

/*
 * The sums of a convolution and of any matrix product, and the layout of their
 * constant weights.  glow_cpu_conv_of is false if three spatial axes matter.
 */
bool glow_cpu_conv_of(const glow_node *n, cpu_direct *out);
cpu_direct glow_cpu_product_of(const glow_node *n);
cpu_filter glow_cpu_conv_filter(const cpu_direct *d, const glow_tensor *from);
cpu_filter glow_cpu_product_filter(const cpu_direct *d,
                                   const glow_tensor *from);

/*
 * Bytes between rows of `depth` elements of operand `i` of `n`; 0 if the rows
 * are not dense or not at one stride, or any other operand is strided.  A
 * strided operand must be float.
 */
int64_t glow_cpu_row_bytes(const glow_node *n, int i, int64_t depth);

/* Unrolled multiplications of the kernel; INT64_MAX: it cannot be compiled. */
int64_t glow_cpu_direct_code(const cpu_target *t, const cpu_direct *d);
void glow_cpu_emit_direct(cpu_job *j, const cpu_direct *d);
int64_t glow_cpu_direct_units(const cpu_target *t, const cpu_direct *d);

/* Adds the choices of `kernel`, which takes `d`. */
void glow_cpu_direct_choices(const cpu_target *t, const cpu_direct *d,
                             const cpu_kernel *kernel, cpu_choices *to);
/* Cycles by the cost model, with the choice of the target. */
double glow_cpu_direct_cycles(const cpu_target *t, const cpu_direct *d);

/* Bytes of packed weights; packs them, and returns their end. */
int64_t glow_cpu_direct_size(const cpu_target *t, const cpu_direct *d);
void *glow_cpu_pack_direct(const cpu_target *t, const cpu_direct *d,
                           const cpu_filter *filter, void *to);
/* True if the weights of `n` can be packed at run time: they are not empty. */
bool glow_cpu_may_turn(const glow_node *n);
/* True if they are packed at run time, and of 16 bits: see narrow.h. */
bool glow_cpu_turns_narrow(const glow_node *n);
/* Scratch bytes; the same with weights that are packed at run time. */
int64_t glow_cpu_direct_room(const cpu_target *t, const cpu_direct *d);
int64_t glow_cpu_turned_room(const cpu_target *t, const cpu_direct *d);

#endif

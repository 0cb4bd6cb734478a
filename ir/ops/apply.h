/*
 * The loops of element-wise operators: floats and the reals of quantized elements
 * are computed as double, the other kinds as integers of 64 bits.
 */

#ifndef IR_OPS_APPLY_H
#define IR_OPS_APPLY_H

#include "ir/ops/common.h"

typedef double (*glow_real1)(double x);
typedef double (*glow_real2)(double x, double y);
typedef double (*glow_real_with)(double x, const void *user);
typedef int64_t (*glow_int1)(int64_t x, bool is_signed);
typedef int64_t (*glow_int2)(int64_t x, int64_t y, bool is_signed);
typedef int64_t (*glow_int_with)(int64_t x, bool is_signed, const void *user);

/*
 * Each sets out[i] from the elements i of the operands, by `real` if these are
 * floats or quantized and by `integer` otherwise; returns true.
 */
bool glow_apply(const glow_tensor *in, const glow_tensor *out, glow_real1 real,
                glow_int1 integer);
bool glow_apply_pairs(glow_tensor *const in[], const glow_tensor *out,
                      glow_real2 real, glow_int2 integer);
bool glow_apply_with(const glow_tensor *in, const glow_tensor *out,
                     glow_real_with real, glow_int_with integer,
                     const void *user);

/*
 * The infer of element-wise operators: the element kind of operand 0 is in
 * `classes`, and the other operands and the result have its type.  With floats come
 * quantized kinds: each operand, and the result, which is stated, has its own kind,
 * scale and offset.
 */
bool glow_apply_admit(const glow_node *n, int classes); /* the operands alone */
bool glow_apply_infer(const glow_node *n, glow_type out[], int classes);

/*
 * Functions of two quantized elements.  `a` and `b` are the elements less their
 * offsets, `ma` and `mb` the factors that bring them to the scale of the result;
 * `product` brings a * b.  The result is in units of its scale: of `narrow` where all
 * kinds have 8 or 16 bits, else of `wide`.
 */
typedef struct glow_grid_ratios {
    double ma, mb, product;
} glow_grid_ratios;
typedef struct glow_grid_fn {
    double (*wide)(double a, double b, const glow_grid_ratios *r);
    float (*narrow)(float a, float b, const glow_grid_ratios *r);
} glow_grid_fn;

extern const glow_grid_fn glow_grid_add, glow_grid_sub, glow_grid_mul;

/* Sets out[i] from in[0][i] and in[1][i mod its size]; returns true. */
bool glow_grid_apply(glow_tensor *const in[], const glow_tensor *out,
                     const glow_grid_fn *g);

#endif

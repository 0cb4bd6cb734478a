/*
 * Helpers for the definitions of operators: checks for `infer`, and bulk access
 * to elements for `eval`.
 */

#ifndef IR_OPS_COMMON_H
#define IR_OPS_COMMON_H

#include <inttypes.h>

#include "glow/derivative.h"
#include "glow/ops.h"
#include "glow/quantize.h"

/* Sets of glow_kind_class: the element kinds that an operand may have. */
enum {
    GLOW_ANY_FLOAT = GLOW_CLASS_FLOAT,
    GLOW_ANY_INT = GLOW_CLASS_INT,
    GLOW_ANY_BOOL = GLOW_CLASS_BOOL,
    GLOW_ANY_NUMBER = GLOW_ANY_FLOAT | GLOW_ANY_INT,
    GLOW_ANY_PLAIN = GLOW_ANY_NUMBER | GLOW_ANY_BOOL,
    GLOW_ANY_NUMERIC = GLOW_ANY_PLAIN | GLOW_CLASS_LOW,
    GLOW_ANY_UNFUSED = GLOW_ANY_NUMERIC | GLOW_CLASS_QUANTIZED,
    GLOW_ANY_KIND = GLOW_ANY_UNFUSED | GLOW_CLASS_FUSED,
};

/*
 * Checks, each of which reports a violation and then returns false.  An operand
 * is given by its position in n->in.
 */

/* The element kind of operand `i` is of one of `classes`. */
bool glow_admit(const glow_node *n, int i, int classes);
/* Operand `i` has `rank` axes; at least `rank`. */
bool glow_check_rank(const glow_node *n, int i, int rank);
bool glow_check_rank_from(const glow_node *n, int i, int rank);
/*
 * infer of operators on a batch [B, ..] and one tensor [..] for all its
 * elements: the result has the type of the batch.
 */
bool glow_infer_batched(const glow_node *n, glow_type out[]);
/* Operand `i` has the shape of operand `j`, or its element kind, or both. */
bool glow_check_shapes(const glow_node *n, int i, int j);
bool glow_check_kinds(const glow_node *n, int i, int j);
bool glow_check_types(const glow_node *n, int i, int j);
/* Operand `i` has exactly this shape, which comes from `why`. */
bool glow_check_shape(const glow_node *n, int i, glow_dims shape,
                      const char *why);
/* The attribute `name` is a valid axis of operand `i`. */
bool glow_check_axis(const glow_node *n, const char *name, int64_t axis, int i);
/* The type of the result is stated. */
bool glow_check_stated(const glow_node *n, const glow_type *stated);
/* Sets result type `*out` to `y` if a tensor can be that large. */
bool glow_give(const glow_node *n, glow_type y, glow_type *out);

/*
 * The result of an operator that computes on quantized elements: the stated kind,
 * scale and offset, and this shape.
 */
bool glow_give_quantized(const glow_node *n, glow_dims shape, glow_type *out);

/*
 * infer of operators that compute with reals: floats, or quantized elements, which
 * stand for reals.  Where operand 0 is quantized the result type is stated.
 */
/* glow_admit of `classes`, and of quantized kinds if floats are among them. */
bool glow_admit_real(const glow_node *n, int i, int classes);
bool glow_takes_quantized(const glow_node *n); /* operand 0 is quantized */
/*
 * `eval` of an operator on reals, on the tensors as float64 where one is quantized:
 * operands as Dequantize and ConvertTo make them, results by Quantize.
 */
bool glow_eval_reals(const glow_node *n, glow_tensor *const in[],
                     glow_tensor *const out[], glow_arena *scratch,
                     glow_eval_fn eval);
/*
 * Element `i` of `out`: the mean of `count` elements of type `from`, whose sum is
 * `sum`.  Of quantized elements it is the sum of the elements less their offsets.
 */
void glow_set_mean(const glow_tensor *out, int64_t i, const glow_type *from,
                   double sum, double count);
/* glow_set_mean of quantized elements with `count` 1 gives the sum itself. */
#define GLOW_MEAN_DOC                                                          \
    "  Quantized: `sat(rint((float)sum * m) + offset)`, where sum is the "     \
    "exact "                                                                   \
    "sum of the elements less their offset, and m the scale of Input divided " \
    "by "                                                                      \
    "that of Result times the number of elements, made in float64 and "        \
    "rounded "                                                                 \
    "to float; in float64 where a kind has 32 bits."
#define GLOW_REALS_TAIL \
    " are computed as float64, between Dequantize and Quantize."
#define GLOW_REALS_DOC "  Quantized elements" GLOW_REALS_TAIL
#define GLOW_REAL_RESULT "the type of Input, or the stated quantized type"
/* A result of this shape: of the kind of operand 0, or stated and quantized. */
bool glow_give_real(const glow_node *n, glow_dims shape, glow_type *out);

/* The type `x` without strides. */
glow_type glow_dense(const glow_type *x);
/*
 * The dense type `x` with another shape, or with another element kind that is
 * not quantized.
 */
glow_type glow_reshaped(const glow_type *x, glow_dims shape);
glow_type glow_rekinded(const glow_type *x, glow_kind kind);

/* Flops of `terms` multiply-adds for each element of `v`. */
int64_t glow_multiply_adds(const glow_value *v, int64_t terms);

/*
 * Reads, or writes, `count` elements from position `first` on, as doubles.  Those of
 * quantized kinds are read by glow_dequantize and written by glow_quantize.
 */
void glow_load(const glow_tensor *t, int64_t first, int64_t count, double *v);
void glow_store(const glow_tensor *t, int64_t first, int64_t count,
                const double *v);
/* All elements as doubles, allocated in `scratch`. */
double *glow_load_all(const glow_tensor *t, glow_arena *scratch);
int64_t glow_tensor_count(const glow_tensor *t);
bool glow_tensor_is_float(const glow_tensor *t);
bool glow_tensor_is_real(const glow_tensor *t); /* float or quantized */
bool glow_tensor_is_signed(const glow_tensor *t);

/*
 * `v` rounded, or saturated, to the element kind of `t`.  As a real, it is `v` itself
 * where the kind is quantized, since only results are rounded.
 */
double glow_real_as(const glow_type *t, double v);
int64_t glow_int_as(const glow_type *t, double v);

/* Elements that an element-wise `eval` takes at a time. */
#define GLOW_CHUNK 512

/* IEEE 754-2019 maximum and minimum: NaN if there is one, and -0 < +0. */
double glow_maximum(double a, double b);
double glow_minimum(double a, double b);
/*
 * True if a > b, with NaN above all numbers; true if a < b, with NaN below all
 * numbers.
 */
bool glow_beats(double a, double b);
bool glow_loses(double a, double b);
/* a < b for 64-bit integers, signed or not. */
bool glow_int_less(int64_t a, int64_t b, bool is_signed);

/*
 * Copies the element at `from_at + sum of i * from_step` to the one at `to_at +
 * sum of i * to_step`, for all indices i of `shape`.  Positions and steps count
 * elements; both tensors have elements of one size.
 */
void glow_copy_block(const glow_tensor *to, int64_t to_at, glow_dims to_step,
                     const glow_tensor *from, int64_t from_at,
                     glow_dims from_step, glow_dims shape);

#endif

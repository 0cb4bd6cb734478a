/*
 * Sums of products of quantized elements: the checks of operators that compute
 * them, and their way to results.
 */

#ifndef IR_OPS_SUMS_H
#define IR_OPS_SUMS_H

#include "glow/quantize.h"

#include "ir/ops/common.h"

/* The rule of quantized elements, for the `doc` of such an operator. */
#define GLOW_SUMS_DOC                                                         \
    "Quantized elements of 8 or 16 bits give the stated type: `sat(rint(sum " \
    "* M) + offset)`.  The sum is exact, its products are those of elements " \
    "less their offsets.  M is the product of the operands' scales, divided " \
    "by that of Result.  Where Result has 8 or 16 bits, sum and M are "       \
    "floats; for i32 they are float64.  Sums have 32 bits, and wrap, or 64 "  \
    "where an operand has 16 bits."
#define GLOW_BIAS_DOC                                                       \
    "  A bias, of i8, i16 or i32, is a term of the sum: it is rescaled to " \
    "i32 in units of the product of the scales, as by RescaleQuantized."

/* Operand `i` has quantized elements of at most `bits` bits. */
bool glow_check_width(const glow_node *n, int i, int bits);
/*
 * Operands 0 and 1 have quantized elements of 8 or 16 bits, operand `bias` (-1:
 * none; it may be omitted) those of 8, 16 or 32, and Result is stated with those
 * of 8, 16 or 32.
 */
bool glow_check_products(const glow_node *n, int bias, const glow_type *stated);
/* No sum of `depth` products of `a` and `b` leaves 31 bits, or 53 of 16 bits. */
bool glow_check_depth(const glow_node *n, int64_t depth, const glow_type *a,
                      const glow_type *b);
/*
 * The same for operands 0 and 1; and the product of their scales is a float.
 * `by_channel`: operand 1 has scales and offsets of its own, and the offsets are
 * taken for 0.
 */
bool glow_check_sums(const glow_node *n, int64_t depth, bool by_channel);

/*
 * Operand `scales`, and the next one, of index32, have an element for each of
 * `results` channels.
 */
bool glow_check_channels(const glow_node *n, int scales, int64_t results);

/* Scales and offsets by column; NULL: those of the types. */
typedef struct glow_channels {
    const glow_tensor *scales, *offsets;           /* of B */
    const glow_tensor *bias_scales, *bias_offsets; /* of the bias */
} glow_channels;

/* The requantization of sums: an element for each column. */
typedef struct glow_sums {
    const glow_type *to;
    double a_offset;
    const double *b_offsets;
    const double *units; /* of the sums: the products of the scales */
    const int64_t *bias; /* in these units; NULL: none */
    bool wraps;          /* sums have 32 bits */
} glow_sums;

/* For A B + bias; `bias` may be NULL.  Arrays live in `arena`. */
glow_sums glow_sums_of(const glow_tensor *a, const glow_tensor *b,
                       const glow_tensor *bias, const glow_channels *channels,
                       const glow_type *to, int64_t columns, glow_arena *arena);
/* Stores the sums of columns first, ..., from element `at` of `out` on. */
void glow_store_sums(const glow_sums *s, const glow_tensor *out, int64_t at,
                     int64_t first, int64_t count, const double *c);
/* Reads elements of a quantized kind, as they are. */
void glow_load_quantized(const glow_tensor *t, int64_t first, int64_t count,
                         double *v);
/* Reads elements of A: floats, or with `s` quantized ones less their offset. */
void glow_load_left(const glow_sums *s, const glow_tensor *t, int64_t first,
                    int64_t count, double *v);

#endif

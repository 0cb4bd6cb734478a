/*
 * What the definitions of operators share: the checks that an `infer` is made
 * of, and elements in bulk for an `eval`.
 */

#ifndef IR_OPS_COMMON_H
#define IR_OPS_COMMON_H

#include <inttypes.h>

#include "glow/ops.h"

/* Which kinds an operand may have: sets of glow_kind_class. */
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
 * Checks, each of which reports what is wrong and then returns false.  An
 * operand is given by its position in n->in.
 */

/* The element kind of operand `i` is of one of `classes`. */
bool glow_admit(const glow_node *n, int i, int classes);
/* Operand `i` has `rank` axes; at least `rank`. */
bool glow_check_rank(const glow_node *n, int i, int rank);
bool glow_check_rank_from(const glow_node *n, int i, int rank);
/* infer of a batch [B, ..] and one tensor [..] for all: the batch's type. */
bool glow_infer_batched(const glow_node *n, glow_type out[]);
/* Operand `i` has the shape of operand `j`; its element kind; both. */
bool glow_check_shapes(const glow_node *n, int i, int j);
bool glow_check_kinds(const glow_node *n, int i, int j);
bool glow_check_types(const glow_node *n, int i, int j);
/* Operand `i` has exactly this shape, which comes from `why`. */
bool glow_check_shape(const glow_node *n, int i, glow_dims shape,
                      const char *why);
/* The attribute called `name` names one of `rank` axes of operand `i`. */
bool glow_check_axis(const glow_node *n, const char *name, int64_t axis, int i);
/* The type of the result is stated. */
bool glow_check_stated(const glow_node *n, const glow_type *stated);
/* Gives `y` as result type `*out` if a tensor can be that large. */
bool glow_give(const glow_node *n, glow_type y, glow_type *out);

/* The type of a dense tensor that is otherwise as `x`. */
glow_type glow_dense(const glow_type *x);
/* The same with another shape; with another kind, which is not quantized. */
glow_type glow_reshaped(const glow_type *x, glow_dims shape);
glow_type glow_rekinded(const glow_type *x, glow_kind kind);

/* Flops of `terms` multiply-adds for each element of `v`. */
int64_t glow_multiply_adds(const glow_value *v, int64_t terms);

/* Elements, `count` from position `first` on, as numbers. */
void glow_load(const glow_tensor *t, int64_t first, int64_t count, double *v);
void glow_store(const glow_tensor *t, int64_t first, int64_t count,
                const double *v);
/* All elements, in scratch. */
double *glow_load_all(const glow_tensor *t, glow_arena *scratch);
int64_t glow_tensor_count(const glow_tensor *t);
bool glow_tensor_is_float(const glow_tensor *t);
bool glow_tensor_is_signed(const glow_tensor *t);

/* What becomes of `v` when the element kind of `t` has to hold it. */
double glow_real_as(const glow_type *t, double v);
int64_t glow_int_as(const glow_type *t, double v);

/* How many elements an element-wise `eval` takes at a time. */
#define GLOW_CHUNK 512

/* IEEE 754-2019 maximum and minimum: NaN if there is one, and -0 < +0. */
double glow_maximum(double a, double b);
double glow_minimum(double a, double b);
/* True if `a` is greater, NaN being the greatest; less, NaN the least. */
bool glow_beats(double a, double b);
bool glow_loses(double a, double b);
/* a < b of the integers that 64 bits hold. */
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

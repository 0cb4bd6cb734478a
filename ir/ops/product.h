/*
 * The matrix product behind the evaluators of convolutions and matrix products:
 * plain sums in double, k ascending, but fast enough to run whole networks.
 */

#ifndef IR_OPS_PRODUCT_H
#define IR_OPS_PRODUCT_H

#include "ir/ops/common.h"

/* C[i][j] = sum over k of A[i][k] * B[k][j]; A is rows x depth. */
typedef struct glow_product {
    int64_t rows, columns, depth;
    /* Element B[k][j] is element b_at + k * b_depth + j * b_column of b. */
    const glow_tensor *b;
    int64_t b_at, b_depth, b_column;
    /* Of quantized elements: what is subtracted from each column; else NULL. */
    const double *b_offsets;
    /* Writes `count` rows of A, one after another, from row `first` on. */
    void (*give)(const void *user, int64_t first, int64_t count, double *a);
    /* Takes columns first, ..., first + count - 1 of a row of C. */
    void (*take)(const void *user, int64_t row, int64_t first, int64_t count,
                 double *c);
    const void *user;
} glow_product;

/*
 * C = A B.  Allocates and frees its memory, so an eval may call it repeatedly.
 */
void glow_multiply(const glow_product *p);

#endif

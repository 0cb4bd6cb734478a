/* Determinants, by Gaussian elimination with partial pivoting. */

#include <math.h>

#include "ir/ops/common.h"

static bool
det_infer(const glow_node *n, glow_type out[])
{
    glow_dims x = n->in[0]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank_from(n, 0, 2))
        return false;
    if (x.at[x.rank - 1] != x.at[x.rank - 2])
        return glow_reject(n,
                           "the matrices of Input are %" PRId64 " x %" PRId64
                           ", but must be square",
                           x.at[x.rank - 2], x.at[x.rank - 1]);
    x.at[x.rank - 2] = x.at[x.rank - 1] = 0;
    x.rank -= 2;
    return glow_give(n, glow_reshaped(n->in[0]->type, x), &out[0]);
}

/*
 * The row >= `first` whose element in column `first` has the largest magnitude.
 */
static int64_t
find_pivot(const double *a, int64_t size, int64_t first)
{
    int64_t best = first;

    for (int64_t i = first + 1; i < size; i++)
        if (glow_beats(fabs(a[i * size + first]), fabs(a[best * size + first])))
            best = i;
    return best;
}

/* Gaussian elimination in place; destroys the matrix. */
static double
determinant(double *a, int64_t size)
{
    double product = 1;

    for (int64_t k = 0; k < size; k++) {
        int64_t pivot = find_pivot(a, size, k);
        double top = a[pivot * size + k];

        product *= pivot == k ? top : -top;
        for (int64_t j = 0; j < size && pivot != k; j++) {
            double swap = a[k * size + j];

            a[k * size + j] = a[pivot * size + j];
            a[pivot * size + j] = swap;
        }
        for (int64_t i = k + 1; i < size && top != 0; i++) {
            double factor = a[i * size + k] / top;

            for (int64_t j = k; j < size; j++)
                a[i * size + j] -= factor * a[k * size + j];
        }
    }
    return product;
}

static bool
det_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
         glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[x.rank - 1], count = glow_tensor_count(out[0]);
    double *a = GLOW_NEW_ARRAY(scratch, double, size *size);

    (void)n;
    for (int64_t i = 0; i < count; i++) {
        glow_load(in[0], i * size * size, size * size, a);
        glow_set_double(out[0], i, determinant(a, size));
    }
    return true;
}

const glow_op glow_op_det = {
    .name = "Det",
    .summary = "the determinant of square matrices",
    .in = {{"Input", GLOW_TENSOR, "[.., M, M]: floats"}},
    .out = {{"Result", GLOW_TENSOR, "[..]"}},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = det_infer,
    .eval = det_eval,
    .doc = "By elimination with the largest element of each column on top.  "
           "That of a matrix without elements is 1.",
    .source = "Golub, Van Loan, Matrix Computations, section 3.4; ONNX Det",
};

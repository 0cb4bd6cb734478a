/*
 * Glow's products within a batch: BatchedMul, BatchedPairwiseDotProduct.
 */

#include "ir/ops/apply.h"

/* batchedmul */

static bool
batchedmul_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    int64_t size = glow_tensor_count(in[1]), count = glow_tensor_count(out[0]);
    bool is_float = glow_tensor_is_float(in[0]);

    (void)scratch;
    if (glow_takes_quantized(n))
        return glow_grid_apply(in, out[0], &glow_grid_mul);
    for (int64_t i = 0; i < count; i++)
        if (is_float)
            glow_set_double(out[0], i,
                            glow_get_double(in[0], i) *
                                glow_get_double(in[1], i % size));
        else
            glow_set_int(out[0], i,
                         (int64_t)((uint64_t)glow_get_int(in[0], i) *
                                   (uint64_t)glow_get_int(in[1], i % size)));
    return true;
}

const glow_op glow_op_batchedmul = {
    .name = "BatchedMul",
    .summary = "multiply each one of a batch by a tensor",
    .in = {{"Batch", GLOW_TENSOR, "x, of shape [B, ..]: floats or integers"},
           {"Slice", GLOW_TENSOR, "s, of shape [..]"}},
    .out = {{"Result", GLOW_TENSOR, "y, the type of Batch"}},
    .traits = GLOW_PURE,
    .infer = glow_infer_batched,
    .eval = batchedmul_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[b, ..] = x[b, ..] * s[..]`.  Integers wrap.  Quantized elements "
           "are multiplied as Mul multiplies them.",
    .source = "Glow BatchedMul",
};

/* batchedpairwisedotproduct */

static bool
batchedpairwisedotproduct_infer(const glow_node *n, glow_type out[])
{
    int64_t pairs = (int64_t)n->n_in * (n->n_in - 1) / 2;

    if (n->n_in < 2)
        return glow_reject(n, "there are %d Inputs, but must be at least 2",
                           n->n_in);
    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 2))
        return false;
    for (int i = 1; i < n->n_in; i++)
        if (!glow_check_types(n, i, 0))
            return false;
    return glow_give(
        n,
        glow_reshaped(n->in[0]->type,
                      GLOW_DIMS_OF(n->in[0]->type->shape.at[0], pairs)),
        &out[0]);
}

static bool
batchedpairwisedotproduct_eval(const glow_node *n, glow_tensor *const in[],
                               glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape;
    int64_t at = 0;

    (void)scratch;
    for (int64_t b = 0; b < x.at[0]; b++)
        for (int i = 0; i < n->n_in; i++)
            for (int j = i + 1; j < n->n_in; j++) {
                double sum = 0;

                for (int64_t k = b * x.at[1]; k < (b + 1) * x.at[1]; k++)
                    sum +=
                        glow_get_double(in[i], k) * glow_get_double(in[j], k);
                glow_set_double(out[0], at++, sum);
            }
    return true;
}

const glow_op glow_op_batchedpairwisedotproduct = {
    .name = "BatchedPairwiseDotProduct",
    .summary = "the dot products of all pairs of vectors, in each of a batch",
    .in = {{"Inputs", GLOW_VARIADIC, "N of them, all [B, K]: floats"}},
    .out = {{"Result", GLOW_TENSOR, "[B, N (N - 1) / 2]"}},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = batchedpairwisedotproduct_infer,
    .eval = batchedpairwisedotproduct_eval,
    .doc = "The pairs come in the order (0, 1), (0, 2), .. (1, 2), ..",
    .source = "Glow BatchedPairwiseDotProduct",
};

/*
 * lower-gemm: transpose, multiply, scale, add; each where it is asked for.
 *
 *     %y = Gemm(%a, %b, %c) {Alpha: s, Beta: t, TransposeB: true}
 *         =>
 *     %u = Transpose(%b) {Shuffle: [1, 0]}
 *     %m = MatMul(%a, %u)
 *     %y = %m * s + %c * t
 *
 * A factor of 1 needs no operator.  One of 0 does: 0 times NaN is not 0.
 */

#include "lower/common.h"

static glow_value *
transposed(glow_builder *b, glow_value *v, bool is_transposed)
{
    if (!is_transposed)
        return v;
    return GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = GLOW_DIMS_OF(1, 0));
}

static glow_value *
scaled(glow_builder *b, glow_value *v, float factor)
{
    return factor == 1 ? v : glow_lower_times(b, v, (double)factor);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_gemm *g = n->attrs;
    glow_value *left = transposed(b, n->in[0], g->transpose_a);
    glow_value *right = transposed(b, n->in[1], g->transpose_b);
    glow_value *y = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(left, right));

    y = scaled(b, y, g->alpha);
    return n->in[2] ? glow_build_add(b, y, scaled(b, n->in[2], g->beta)) : y;
}

const glow_pass glow_pass_lower_gemm = {
    .name = "lower-gemm",
    .summary = "express Gemm by Transpose, MatMul, Mul and Add",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_gemm,
    .rewrite = lower,
};

/*
 * lower-batchedmul: repeat the slice.
 *
 *     %y = BatchedMul(%x, %s)
 *         =>
 *     %y = Mul(%x, [%s])                                  [..]: Broadcast to %x
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_build_mul(
        b, n->in[0], glow_lower_spread(b, n->in[1], 1, n->in[0]->type->shape));
}

const glow_pass glow_pass_lower_batchedmul = {
    .name = "lower-batchedmul",
    .summary = "express BatchedMul by Broadcast and Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_batchedmul,
    .rewrite = lower,
};

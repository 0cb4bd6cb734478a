/*
 * lower-fusedattention: transpose the operands and the result of
 * FusedAttention.
 *
 *     %y = FusedAttention(%q, %k, %v, %m) {Scale: c, QRows: true, YRows: true}
 *         =>
 *     %t = Transpose(%q) {Shuffle: [0, 2, 1, 3]}
 *     %z = Attention(%t, %k, %v, %m) {Scale: c}
 *     %y = Transpose(%z#Y) {Shuffle: [0, 2, 1, 3]}
 */

#include "lower/common.h"

static glow_value *
turned(glow_builder *b, glow_value *v, bool by_rows)
{
    if (!by_rows || !v)
        return v;
    return GLOW_BUILD(b, transpose, GLOW_IN(v),
                      .shuffle = GLOW_DIMS_OF(0, 2, 1, 3));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_fusedattention *f = n->attrs;
    glow_value *q = turned(b, n->in[0], f->q_rows);
    glow_value *k = turned(b, n->in[1], f->k_rows);
    glow_value *v = turned(b, n->in[2], f->v_rows), *y;

    y = GLOW_BUILD(b, attention, GLOW_IN(q, k, v, n->in[3]), .scale = f->scale,
                   .soft_cap = f->soft_cap, .causal = f->causal,
                   .past = f->past, .nan_rows = f->nan_rows);
    return turned(b, y, f->y_rows);
}

const glow_pass glow_pass_lower_fusedattention = {
    .name = "lower-fusedattention",
    .summary = "express FusedAttention by Attention and Transpose",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_fusedattention,
    .rewrite = lower,
};

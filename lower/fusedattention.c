/*
 * lower-fusedattention: transpose the operands and the result of
 * FusedAttention.
 *
 *     %y = FusedAttention(%q, %k, %v, %m) {Scale: c, QRows: true, YRows: true}
 *         =>
 *     %t = Transpose(%q) {Shuffle: [0, 2, 1, 3]}
 *     %z = Attention(%t, %k, %v, %m) {Scale: c}
 *     %y = Transpose(%z#Y) {Shuffle: [0, 2, 1, 3]}
 *
 * Keys and values of fewer bits than %q are converted first, in a step by
 * itself, because a backend may take the node without them:
 *
 *     %y = FusedAttention(%q, %k, %v, %m)            %k, %v : float16
 *         =>
 *     %a = ConvertTo(%k) : float
 *     %b = ConvertTo(%v) : float
 *     %y = FusedAttention(%q, %a, %b, %m)
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

/* `v` in the kind of `like`. */
static glow_value *
widened(glow_builder *b, glow_value *v, const glow_value *like)
{
    glow_type t = glow_type_of(like->type->elem, v->type->shape);

    if (v->type->elem == t.elem)
        return v;
    return GLOW_BUILD_STATED_PLAIN(
        b, convertto, glow_type_get(glow_builder_context(b), t), GLOW_IN(v));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_fusedattention *f = n->attrs;
    glow_value *k = widened(b, n->in[1], n->in[0]);
    glow_value *v = widened(b, n->in[2], n->in[0]), *q, *y;

    if (k != n->in[1] || v != n->in[2])
        return glow_build(b, n->op, NULL, GLOW_IN(n->in[0], k, v, n->in[3]), f);
    q = turned(b, n->in[0], f->q_rows);
    k = turned(b, n->in[1], f->k_rows);
    v = turned(b, n->in[2], f->v_rows);
    y = GLOW_BUILD(b, attention, GLOW_IN(q, k, v, n->in[3]), .scale = f->scale,
                   .soft_cap = f->soft_cap, .causal = f->causal,
                   .past = f->past, .nan_rows = f->nan_rows);
    return turned(b, y, f->y_rows);
}

const glow_pass glow_pass_lower_fusedattention = {
    .name = "lower-fusedattention",
    .summary = "express FusedAttention by Attention, ConvertTo and Transpose",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_fusedattention,
    .rewrite = lower,
};

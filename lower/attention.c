/*
 * lower-attention: two products with a softmax between them.
 *
 *     %s = BatchMatMul(Q as [B G, H / G S, D], Transpose(K)) * Scale
 *     %s = c * Tanh(%s / c)                                 with SoftCap
 *     %s = %s + [mask]; -inf where Causal or a Mask of bool hides   [..]: Broadcast
 *     %w = SoftMax(%s), 0 in rows that are all -inf, unless NanRows
 *     Y = BatchMatMul(%w, V)
 *
 * The queries of the heads that share one of K and V are rows of one matrix, so
 * that neither is repeated.  Scores of float16 are computed in float, whose range is
 * wider: products of some hundred would be infinite, and their SoftMax NaN.
 */

#include <math.h>

#include "lower/common.h"

enum { Q, K, V, MASK };

/*
 * Bool constant [S, T]: true where query i may attend to key j, j - i <=
 * `past`.
 */
static glow_value *
causal_mask(glow_builder *b, const glow_attention *a, int64_t rows,
            int64_t count)
{
    glow_value *v = glow_build_constant(
        b, "causal",
        glow_type_get(glow_builder_context(b),
                      glow_type_of(GLOW_BOOL, GLOW_DIMS_OF(rows, count))));

    for (int64_t i = 0; v && i < rows * count; i++)
        glow_set_int(&v->storage->tensor, i, i % count - i / count <= a->past);
    return v;
}

/* `s` where `seen` holds, else -inf. */
static glow_value *
hide(glow_builder *b, glow_value *s, glow_value *seen, int axis)
{
    if (!s)
        return NULL;
    seen = glow_lower_spread(b, seen, axis, s->type->shape);
    return GLOW_BUILD_PLAIN(
        b, select, GLOW_IN(seen, s, glow_lower_splat(b, s->type, -INFINITY)));
}

static glow_value *
masked(glow_builder *b, const glow_node *n, glow_value *s)
{
    const glow_attention *a = n->attrs;
    glow_value *mask = n->in[MASK];

    if (mask && s && mask->type->elem == GLOW_BOOL)
        s = hide(b, s, mask, 0);
    else if (mask && s)
        s = glow_build_add(
            b, s,
            glow_lower_spread(b, glow_lower_convert(b, mask, s->type->elem), 0,
                              s->type->shape));
    if (a->causal && s) {
        glow_dims shape = s->type->shape;

        s = hide(b, s, causal_mask(b, a, shape.at[2], shape.at[3]), 2);
    }
    return s;
}

/*
 * SoftMax of the scores `s`; rows that are masked throughout give 0, unless
 * NanRows.
 */
static glow_value *
weights(glow_builder *b, const glow_node *n, glow_value *s)
{
    const glow_attention *a = n->attrs;
    glow_value *w = GLOW_BUILD(b, softmax, GLOW_IN(s), .axis = 3);
    glow_value *most, *none;

    if (!w || a->nan_rows || !n->in[MASK])
        return w;
    most = GLOW_BUILD(b, batchedreducemax, GLOW_IN(s), .axes = GLOW_DIMS_OF(3));
    if (!most)
        return NULL;
    none = glow_lower_splat(b, most->type, -INFINITY);
    none = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(most, none));
    none = glow_lower_spread(b, none, 0, w->type->shape);
    return GLOW_BUILD_PLAIN(b, select,
                            GLOW_IN(none, glow_lower_splat(b, w->type, 0), w));
}

/* Operand `i`, in float if it is float16. */
static glow_value *
factor(glow_builder *b, const glow_node *n, int i)
{
    glow_value *v = n->in[i];

    return v->type->elem == GLOW_FLOAT16 ? glow_lower_convert(b, v, GLOW_FLOAT)
                                         : v;
}

/* A tensor of rank 4 as a batch of matrices. */
static glow_value *
as_batch(glow_builder *b, glow_value *v, int64_t batch, int64_t rows)
{
    glow_dims s = v->type->shape;

    return glow_build_reshape(b, v, GLOW_DIMS_OF(batch, rows, s.at[3]));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_attention *a = n->attrs;
    glow_dims q = n->in[Q]->type->shape, k = n->in[K]->type->shape;
    int64_t batch = k.at[0] * k.at[1], rows = q.at[1] / k.at[1] * q.at[2];
    glow_value *key = as_batch(b, factor(b, n, K), batch, k.at[2]);
    glow_value *s = as_batch(b, factor(b, n, Q), batch, rows), *w, *y;
    glow_kind kind = n->out[0]->type->elem;
    glow_value *stage[4]; /* by GLOW_SCORES_... */

    key = GLOW_BUILD(b, transpose, GLOW_IN(key),
                     .shuffle = GLOW_DIMS_OF(0, 2, 1));
    s = GLOW_BUILD_PLAIN(b, batchmatmul, GLOW_IN(s, key));
    s = glow_build_reshape(b, s, n->out[1]->type->shape);
    s = stage[GLOW_SCORES_RAW] = glow_lower_times(b, s, (double)a->scale);
    if (a->soft_cap > 0) {
        s = glow_lower_by(b, s, (double)a->soft_cap);
        s = GLOW_BUILD_PLAIN(b, tanh, GLOW_IN(s));
        s = glow_lower_times(b, s, (double)a->soft_cap);
    }
    stage[GLOW_SCORES_CAPPED] = s;
    s = stage[GLOW_SCORES_MASKED] = masked(b, n, s);
    w = stage[GLOW_SCORES_WEIGHTS] = weights(b, n, s);
    if (!w)
        return NULL;
    w = glow_lower_convert(b, w, kind);
    y = as_batch(b, n->in[V], batch, k.at[2]);
    y = GLOW_BUILD_PLAIN(b, batchmatmul,
                         GLOW_IN(as_batch(b, w, batch, rows), y));
    glow_builder_replace(b, n, 0,
                         glow_build_reshape(b, y, n->out[0]->type->shape));
    glow_builder_replace(b, n, 1,
                         glow_lower_convert(b, stage[a->scores], kind));
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_attention = {
    .name = "lower-attention",
    .summary = "express Attention by BatchMatMul and SoftMax",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_attention,
    .rewrite = lower,
    .source = "Vaswani et al., arXiv:1706.03762, section 3.2.1",
};

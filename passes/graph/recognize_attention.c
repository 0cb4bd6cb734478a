/*
 * recognize-attention: recognize attention between two batched matrix products.
 *
 *     %s = BatchMatMul(%q, %k)          [N, S, D] x [N, D, T]
 *     %s = %s * c + mask                the mask in one of several forms, below
 *     %p = SoftMax(%s)                  along T
 *     %y = BatchMatMul(%p, %v)          [N, S, T] x [N, T, E]
 *         =>
 *     %y = Attention(%q, Transpose(%k), %v, mask) {Scale: c}
 *
 * with a Reshape between any two of them that keeps the last axis, since
 * importers flatten the batches of [B, H, S, T] to one axis.  B and H are the
 * axes of the first four-dimensional tensor on the path, or right before it;
 * without one there is one batch, so that fuse-attention can fuse a Transpose
 * that splits rows into heads.  The other parts:
 *
 *     c         the product of the numbers that the scores, the queries and
 *               the keys are multiplied or divided by, the latter two also in
 *               front of their own reshapes and transposes
 *     SoftCap   c2 * Tanh(%s / c2)
 *     + %m      a mask: any tensor that repeats along axes of the scores
 *     Select(%b, %s, -inf)                a mask of bool
 *     Select(%b, %s, f), f <= -10000      the same, if %b is constant and keeps
 *                                         a score of each row
 *     the last three, lower triangular    Causal, and Past
 *
 * TensorFlow exchanges keys and queries, with the softmax along the axis before
 * the last: if the last two axes are transposed between softmax and second
 * product, the operands of the first product are exchanged.  Such scores may be
 * scaled, not masked.
 *
 * A row that is masked throughout by -inf is NaN, as in the formula (NanRows).
 * With a finite f the row would be a mean, which Attention cannot express: such
 * rows must be excluded.  Elsewhere e^f adds 0, unless all scores of a row are
 * near f.
 *
 * Transposed keys are transposed back, which cancels the exporter's transpose.
 * If inner nodes have other users, nothing is rewritten.  ONNX Runtime matches
 * one form for each exporter; this pass matches any combination of the above.
 * Glow has no such pass.
 */

#include <math.h>

#include "glow/formula.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/reach.h"
#include "glow/trace.h"
#include "passes/graph/common/attention_mask.h"

#define MAX_STEPS 12 /* between softmax and product, or of layout operators */

/* State of the match from the softmax back to the first product. */
typedef struct scores {
    glow_builder *b;
    glow_dims heads;     /* [B, H]; rank 0: not known yet */
    int64_t rows, count; /* S and T */
    glow_value *mask;    /* of the scores' shape: bool, or an addend */
    bool is_flipped;     /* the mask is Not, or Neg, of `mask` */
    bool is_turned;      /* the scores are keys times queries */
    glow_attention attrs;
} scores;

/* True if both have the same last axis, so that a reshape keeps rows. */
static bool
keeps_rows(const glow_value *a, const glow_value *b)
{
    glow_dims x = a->type->shape, y = b->type->shape;

    return x.rank > 1 && y.rank > 1 && x.at[x.rank - 1] == y.at[y.rank - 1];
}

/* Sets B and H from scores of four axes. */
static void
note_heads(scores *s, const glow_value *v)
{
    glow_dims shape = v->type->shape;

    if (s->heads.rank == 0 && shape.rank == 4 && shape.at[2] == s->rows &&
        shape.at[3] == s->count)
        s->heads = GLOW_DIMS_OF(shape.at[0], shape.at[1]);
}

/* Sets B and H from [B, H, A, C] behind a batch of matrices. */
static void
note_batch(scores *s, const glow_value *v)
{
    const glow_node *n = glow_def(v, &glow_op_reshape);
    glow_dims from = n ? n->in[0]->type->shape : (glow_dims){0};

    if (s->heads.rank == 0 && from.rank == 4 && keeps_rows(v, n->in[0]) &&
        from.at[2] == v->type->shape.at[1])
        s->heads = GLOW_DIMS_OF(from.at[0], from.at[1]);
}

/* Masks. */

/*
 * Sets the mask to `v`, of the shape of the scores; false if there is one
 * already, or if it may mask a whole row and must not.
 */
static bool
take_mask(scores *s, glow_value *v, bool is_flipped, bool may_hide_rows)
{
    int64_t past;

    if (!s->attrs.causal && glow_attention_mask_is_causal(
                                v, is_flipped, s->rows, s->count, &past)) {
        s->attrs.causal = true;
        s->attrs.past = past;
        return true;
    }
    if (s->mask ||
        (!may_hide_rows && !glow_attention_mask_shows_rows(v, is_flipped)))
        return false;
    s->mask = v;
    s->is_flipped = is_flipped;
    return true;
}

/* The scores of Select(kept, %s, f) or Select(masked, f, %s), or NULL. */
static glow_value *
through_select(scores *s, const glow_node *n)
{
    double f;

    for (int i = 1; i <= 2; i++)
        if (glow_splat_value(n->in[i], &f) && f <= ATTENTION_HIDDEN)
            return take_mask(s, n->in[0], i == 1, f == -INFINITY) ? n->in[3 - i]
                                                                  : NULL;
    return NULL;
}

/* True if `v` are scores: a product, scaled and masked. */
static bool
leads_to_product(const glow_value *v)
{
    for (int i = 0; i < MAX_STEPS && v->def && !v->def->pred; i++) {
        const glow_node *n = v->def;
        double number;
        int at = 0;

        if (n->op == &glow_op_batchmatmul)
            return true;
        if (n->op == &glow_op_select)
            at = glow_splat_value(n->in[1], &number) ? 2 : 1;
        else if (n->op == &glow_op_mul || n->op == &glow_op_add)
            at = glow_is_constant_like(glow_trace_begin(n->in[0]).value);
        else if (n->op != &glow_op_div && n->op != &glow_op_sub &&
                 n->op != &glow_op_tanh && n->op != &glow_op_reshape)
            return false;
        v = n->in[at];
    }
    return false;
}

static glow_value *
through_add(scores *s, const glow_node *n)
{
    int i = leads_to_product(n->in[0]) ? 0 : 1;

    return take_mask(s, n->in[1 - i], false, true) ? n->in[i] : NULL;
}

static glow_value *
through_sub(scores *s, const glow_node *n)
{
    return take_mask(s, n->in[1], true, true) ? n->in[0] : NULL;
}

static const struct {
    const glow_op *op;
    glow_value *(*through)(scores *s, const glow_node *n);
} mask_rules[] = {
    {&glow_op_add, through_add},
    {&glow_op_select, through_select},
    {&glow_op_sub, through_sub},
};

/* The scores before `v` was masked, once; or NULL. */
static glow_value *
before_mask(scores *s, const glow_value *v)
{
    for (size_t i = 0; i < sizeof mask_rules / sizeof mask_rules[0]; i++) {
        const glow_node *n = glow_only_def(v, mask_rules[i].op);
        glow_value *x = n ? mask_rules[i].through(s, n) : NULL;

        if (x)
            return x;
    }
    return NULL;
}

/* Scales. */

/* x, if `v` is x times a number, by which *scale is multiplied; else `v`. */
static glow_value *
unscaled(glow_builder *b, glow_value *v, double *scale)
{
    glow_affine a = glow_read_affine(v);

    if (a.shift != 0 || !isfinite(a.scale) || a.scale == 0 ||
        !glow_has_one_use(v) ||
        (a.divides && glow_run_reaches_jump(glow_builder_run(b), v->def)))
        return v;
    *scale *= a.scale;
    return a.x;
}

/*
 * `v` without a scale before a chain of reshapes and transposes; *scale is
 * multiplied by it, and the chain is rebuilt.
 */
static glow_value *
unscaled_chain(glow_builder *b, glow_value *v, double *scale, int left)
{
    glow_node *n = v->def;
    glow_value *x = unscaled(b, v, scale);

    if (x != v || !n || n->pred || left == 0 || !glow_has_one_use(v) ||
        (n->op != &glow_op_reshape && n->op != &glow_op_transpose))
        return x;
    x = unscaled_chain(b, n->in[0], scale, left - 1);
    return x == n->in[0] ? v : glow_build(b, n->op, NULL, GLOW_IN(x), n->attrs);
}

/* The path from softmax to product. */

/* The operand of a reshape that keeps rows; else `v`. */
static glow_value *
through_reshape(scores *s, glow_value *v)
{
    const glow_node *n = glow_only_def(v, &glow_op_reshape);

    note_heads(s, v);
    if (!n || !keeps_rows(v, n->in[0]))
        return v;
    note_heads(s, n->in[0]);
    return n->in[0];
}

/* From the operand of the softmax to the product, or NULL. */
static const glow_node *
find_scores(glow_builder *b, scores *s, glow_value *v)
{
    double scale = 1;
    bool may_mask = !s->is_turned;

    for (int i = 0; i < MAX_STEPS; i++) {
        const glow_node *product, *tanh;
        glow_value *x = through_reshape(s, v);

        product = glow_only_def(x, &glow_op_batchmatmul);
        if (product) {
            s->attrs.scale = (float)scale;
            return isfinite(s->attrs.scale) ? product : NULL;
        }
        if (may_mask && x == v)
            x = before_mask(s, v);
        if (!x || x == v) {
            x = unscaled(b, v, &scale);
            may_mask = may_mask && x == v;
        }
        tanh = glow_only_def(x, &glow_op_tanh);
        if (tanh && x != v && s->attrs.soft_cap == 0 && scale > 0) {
            s->attrs.soft_cap = (float)scale;
            x = tanh->in[0];
        }
        if (x == v)
            return NULL;
        v = x;
    }
    return NULL;
}

/* Building. */

static glow_value *
reshaped(glow_builder *b, glow_value *v, glow_dims to)
{
    const glow_node *n = v ? glow_def(v, &glow_op_reshape) : NULL;

    if (n && glow_dims_equal(n->in[0]->type->shape, to))
        return n->in[0];
    if (!v || glow_dims_equal(v->type->shape, to))
        return v;
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = to);
}

/* [N, A, C] as [B, H, A, C] */
static glow_value *
with_heads(const scores *s, glow_value *v)
{
    glow_dims d = v ? v->type->shape : (glow_dims){.rank = 3};

    return reshaped(
        s->b, v,
        GLOW_DIMS_OF(s->heads.at[0], s->heads.at[1], d.at[1], d.at[2]));
}

/*
 * The mask with four axes, with one element along axes on which it is constant;
 * NULL after a report.
 */
static glow_value *
build_mask(const scores *s)
{
    glow_trace t = glow_trace_begin(s->mask);
    glow_dims to =
        GLOW_DIMS_OF(s->heads.at[0], s->heads.at[1], s->rows, s->count);
    glow_value *m = glow_trace_small(s->b, &t);
    glow_dims small = m ? m->type->shape : (glow_dims){0};

    if (m && small.rank == 3 && glow_dims_count(s->heads) == t.shape.at[0] &&
        t.shape.at[1] == s->rows)
        to = small.at[0] == 1
                 ? GLOW_DIMS_OF(1, 1, small.at[1], small.at[2])
                 : GLOW_DIMS_OF(to.at[0], to.at[1], small.at[1], small.at[2]);
    else if (m && small.rank == 4 && glow_dims_equal(t.shape, to))
        to = small;
    else
        m = s->mask;
    m = reshaped(s->b, m, to);
    if (!m || !s->is_flipped)
        return m;
    return m->type->elem == GLOW_BOOL ? GLOW_BUILD_PLAIN(s->b, not, GLOW_IN(m))
                                      : GLOW_BUILD_PLAIN(s->b, neg, GLOW_IN(m));
}

static glow_value *
build(scores *s, const glow_node *first, const glow_node *second)
{
    double scale = (double)s->attrs.scale;
    glow_value *q, *k, *v, *mask = NULL, *y, **turn;

    if (s->mask)
        mask = build_mask(s);
    q = unscaled_chain(s->b, first->in[s->is_turned], &scale, MAX_STEPS);
    k = unscaled_chain(s->b, first->in[!s->is_turned], &scale, MAX_STEPS);
    q = with_heads(s, q);
    k = with_heads(s, k);
    if (!q || !k)
        return NULL;
    turn = s->is_turned ? &q : &k;
    *turn = GLOW_BUILD(s->b, transpose, GLOW_IN(*turn),
                       .shuffle = GLOW_DIMS_OF(0, 1, 3, 2));
    v = with_heads(s, second->in[1]);
    s->attrs.scale = (float)scale;
    s->attrs.nan_rows = true;
    y = glow_build(s->b, &glow_op_attention, NULL, GLOW_IN(q, k, v, mask),
                   &s->attrs);
    return y ? reshaped(s->b, y, second->out[0]->type->shape) : NULL;
}

/* The softmax whose transpose of the last two axes is `v`, or NULL. */
static const glow_node *
find_turned_softmax(scores *s, glow_value *v)
{
    glow_trace t = glow_trace_begin(v);
    const glow_node *n = glow_trace_def(&t, &glow_op_softmax);
    int from = t.value->type->shape.rank, to = t.shape.rank;
    int64_t last = -1;

    if (!n || !glow_has_one_use(t.value) || !glow_has_one_use(v) || to < 3 ||
        ((const glow_softmax *)n->attrs)->axis != from - 2 ||
        t.axis.at[to - 1] != from - 2 || t.axis.at[to - 2] != from - 1)
        return NULL;
    for (int i = 0; i < to - 2; i++) {
        if (t.axis.at[i] >= 0 && t.axis.at[i] < last)
            return NULL;
        last = t.axis.at[i] >= 0 ? t.axis.at[i] : last;
    }
    s->is_turned = true;
    return n;
}

/*
 * The softmax along the last axis that defines `v`, possibly reshaped; or NULL.
 */
static const glow_node *
find_softmax(scores *s, glow_value *v)
{
    glow_value *inner = through_reshape(s, v);
    const glow_node *n = glow_only_def(inner, &glow_op_softmax);

    if (n &&
        ((const glow_softmax *)n->attrs)->axis == inner->type->shape.rank - 1)
        return n;
    n = find_turned_softmax(s, v);
    return n ? n : find_turned_softmax(s, inner);
}

static glow_value *
recognize(glow_builder *b, glow_node *n)
{
    glow_dims p = n->in[0]->type->shape;
    scores s = {.b = b, .rows = p.at[1], .count = p.at[2]};
    const glow_node *softmax, *product;

    if (n->pred || !glow_is_float(n->out[0]->type->elem))
        return NULL;
    softmax = find_softmax(&s, n->in[0]);
    if (!softmax || p.at[2] < 1)
        return NULL;
    product = find_scores(b, &s, softmax->in[0]);
    if (s.is_turned)
        p = GLOW_DIMS_OF(p.at[0], p.at[2], p.at[1]);
    if (!product || !glow_dims_equal(product->out[0]->type->shape, p)) {
        glow_run_remark(glow_builder_user(b), softmax, false,
                        "no attention: its operand is no product that is "
                        "scaled and then masked by what leaves each row "
                        "something");
        return NULL;
    }
    note_batch(&s, product->in[0]);
    note_batch(&s, n->in[1]);
    if (s.heads.rank == 0)
        s.heads = GLOW_DIMS_OF(1, p.at[0]);
    glow_builder_fuses(b, product);
    glow_builder_fuses(b, softmax);
    return build(&s, product, n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_with(pass, f, &glow_op_batchmatmul, recognize, pass);
}

const glow_pass glow_pass_recognize_attention = {
    .name = "recognize-attention",
    .summary = "recognize attention between two matrix products",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Vaswani et al., arXiv:1706.03762, section 3.2.1; ONNX Runtime, "
              "AttentionFusion",
};

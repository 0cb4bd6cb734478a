/*
 * Attention, and rotary embedding of positions.
 */

#include <math.h>

#include "ir/ops/common.h"

enum { Q, K, V, MASK };

/* attention */

/* Each axis of Mask is that of the scores, or 1. */
static bool
check_mask(const glow_node *n, glow_dims scores)
{
    glow_dims m;

    if (!n->in[MASK])
        return true;
    if (n->in[MASK]->type->elem != GLOW_BOOL && !glow_check_kinds(n, MASK, Q))
        return false;
    if (!glow_check_rank(n, MASK, 4))
        return false;
    m = n->in[MASK]->type->shape;
    for (int i = 0; i < 4; i++)
        if (m.at[i] != 1 && m.at[i] != scores.at[i])
            return glow_reject(n,
                               "axis %d of Mask has %" PRId64
                               " elements, but must have 1 or %" PRId64,
                               i, m.at[i], scores.at[i]);
    return true;
}

static bool
attention_infer(const glow_node *n, glow_type out[])
{
    const glow_attention *a = n->attrs;
    glow_dims q = n->in[Q]->type->shape, k = n->in[K]->type->shape;
    glow_dims v = n->in[V]->type->shape, y;

    if (!glow_admit(n, Q, GLOW_ANY_FLOAT) || !glow_check_kinds(n, K, Q) ||
        !glow_check_kinds(n, V, Q) || !glow_check_rank(n, Q, 4) ||
        !glow_check_rank(n, K, 4) || !glow_check_rank(n, V, 4))
        return false;
    if (k.at[1] < 1 || q.at[1] % k.at[1] != 0)
        return glow_reject(n,
                           "Q has %" PRId64 " heads, which is no multiple of "
                           "the %" PRId64 " of K",
                           q.at[1], k.at[1]);
    if (k.at[2] < 1)
        return glow_reject(n, "K has 0 rows, but at least 1 is needed");
    if (!(a->soft_cap >= 0) || !isfinite(a->scale))
        return glow_reject(n,
                           "SoftCap is %g and Scale %g, but must be 0 or more, "
                           "and finite",
                           (double)a->soft_cap, (double)a->scale);
    if (a->past < 0)
        return glow_reject(n, "Past is %" PRId64 ", but must be 0 or more",
                           a->past);
    if (!glow_check_shape(n, K,
                          GLOW_DIMS_OF(q.at[0], k.at[1], k.at[2], q.at[3]),
                          "what Q asks for") ||
        !glow_check_shape(n, V,
                          GLOW_DIMS_OF(q.at[0], k.at[1], k.at[2], v.at[3]),
                          "what K asks for"))
        return false;
    y = GLOW_DIMS_OF(q.at[0], q.at[1], q.at[2], k.at[2]);
    if (!check_mask(n, y) ||
        !glow_give(n, glow_reshaped(n->in[Q]->type, y), &out[1]))
        return false;
    y.at[3] = v.at[3];
    return glow_give(n, glow_reshaped(n->in[Q]->type, y), &out[0]);
}

/* What is added to score [b, h, i, j]. */
static double
bias_of(const glow_attention *a, const glow_tensor *mask, const int64_t at[4])
{
    int64_t pos = 0;

    if (a->causal && at[3] - at[2] > a->past)
        return -INFINITY;
    if (!mask)
        return 0;
    for (int i = 0; i < 4; i++)
        pos = pos * mask->type->shape.at[i] +
              (mask->type->shape.at[i] == 1 ? 0 : at[i]);
    if (mask->type->elem == GLOW_BOOL)
        return glow_get_int(mask, pos) ? 0 : -INFINITY;
    return glow_get_double(mask, pos);
}

/* The exponentials of scores, by their sum; all `none` if nothing may be seen. */
static void
normalize(double *s, int64_t count, double none)
{
    double most = -INFINITY, sum = 0;

    for (int64_t j = 0; j < count; j++)
        most = glow_maximum(most, s[j]);
    for (int64_t j = 0; j < count; j++)
        sum += s[j] = most == -INFINITY ? 0 : exp(s[j] - most);
    for (int64_t j = 0; j < count; j++)
        s[j] = sum == 0 ? none : s[j] / sum;
}

/* One row of Q, q; its scores go to s and, at the stage asked for, to `kept`. */
static void
score_row(const glow_attention *a, const double *q, const double *k,
          int64_t depth, const glow_tensor *mask, int64_t at[4], double *s,
          double *kept, int64_t count)
{
    for (int64_t j = 0; j < count; j++) {
        double sum = 0;

        for (int64_t d = 0; d < depth; d++)
            sum += q[d] * k[j * depth + d];
        s[j] = sum * (double)a->scale;
        if (a->scores == GLOW_SCORES_RAW)
            kept[j] = s[j];
        if (a->soft_cap > 0)
            s[j] = (double)a->soft_cap * tanh(s[j] / (double)a->soft_cap);
        if (a->scores == GLOW_SCORES_CAPPED)
            kept[j] = s[j];
        at[3] = j;
        s[j] += bias_of(a, mask, at);
        if (a->scores == GLOW_SCORES_MASKED)
            kept[j] = s[j];
    }
    normalize(s, count, a->nan_rows ? (double)NAN : 0);
    for (int64_t j = 0; j < count && a->scores == GLOW_SCORES_WEIGHTS; j++)
        kept[j] = s[j];
}

static bool
attention_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims qs = in[Q]->type->shape, vs = in[V]->type->shape;
    int64_t heads = qs.at[1], group = heads / vs.at[1], rows = qs.at[2];
    int64_t depth = qs.at[3], count = vs.at[2], width = vs.at[3];
    double *q = GLOW_NEW_ARRAY(scratch, double, depth);
    double *k = GLOW_NEW_ARRAY(scratch, double, count *depth);
    double *v = GLOW_NEW_ARRAY(scratch, double, count *width);
    double *s = GLOW_NEW_ARRAY(scratch, double, count);
    double *kept = GLOW_NEW_ARRAY(scratch, double, count);
    double *y = GLOW_NEW_ARRAY(scratch, double, width);

    for (int64_t i = 0; i < qs.at[0] * heads * rows; i++) {
        int64_t head = i / rows, from = head / group;
        int64_t at[4] = {head / heads, head % heads, i % rows, 0};

        if (i % rows == 0) {
            glow_load(in[K], from * count * depth, count * depth, k);
            glow_load(in[V], from * count * width, count * width, v);
        }
        glow_load(in[Q], i * depth, depth, q);
        score_row(n->attrs, q, k, depth, in[MASK], at, s, kept, count);
        for (int64_t d = 0; d < width; d++) {
            y[d] = 0;
            for (int64_t j = 0; j < count; j++)
                y[d] += s[j] * v[j * width + d];
        }
        glow_store(out[0], i * width, width, y);
        glow_store(out[1], i * count, count, kept);
    }
    return true;
}

static int64_t
attention_flops(const glow_node *n)
{
    glow_dims k = n->in[K]->type->shape, v = n->in[V]->type->shape;

    return glow_multiply_adds(n->out[1], k.at[3] + v.at[3]);
}

static const char *const stages[] = {"raw", "capped", "masked", "weights",
                                     NULL};

const glow_op glow_op_attention = {
    .name = "Attention",
    .summary = "scaled dot-product attention of many heads",
    .in = {{"Q", GLOW_TENSOR, "[B, H, S, D]: queries"},
           {"K", GLOW_TENSOR, "[B, G, T, D]: keys; H is a multiple of G"},
           {"V", GLOW_TENSOR, "[B, G, T, E]: values"},
           {"Mask", GLOW_OPTIONAL,
            "B or 1, H or 1, S or 1, T or 1: bool, what is seen; or what is "
            "added to the scores"}},
    .out = {{"Y", GLOW_TENSOR, "[B, H, S, E]"},
            {"Scores", GLOW_TENSOR, "[B, H, S, T]: at a stage of the way"}},
    .attrs = {GLOW_FIELD(glow_attention, scale, GLOW_FLOAT32,
                         "what the products of Q and K are multiplied by"),
              GLOW_FIELD_DEFAULT(glow_attention, soft_cap, GLOW_FLOAT32,
                                 "c: scores are `c tanh(s / c)`; 0: they are "
                                 "not capped"),
              GLOW_FIELD_DEFAULT(glow_attention, causal, GLOW_FLAG,
                                 "row i of Q sees those of K up to i + Past"),
              GLOW_FIELD_DEFAULT(glow_attention, past, GLOW_INT64,
                                 "how many rows of K come before Q's first"),
              GLOW_FIELD_ENUM(glow_attention, scores, stages,
                              "which scores are given: before SoftCap, after "
                              "it, with the mask, or normalized"),
              GLOW_FIELD_DEFAULT(
                  glow_attention, nan_rows, GLOW_FLAG,
                  "a row that sees nothing gives NaN, as SoftMax "
                  "does, not 0")},
    .defaults = &(const glow_attention){.causal = false},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = attention_infer,
    .eval = attention_eval,
    .flops = attention_flops,
    .doc = "`Y = softmax(cap(Scale Q K^T) + mask) V`, head h with head `h / (H "
           "/ G)` of K and V.  A row that sees nothing gives 0, or "
           "NaN with NanRows.",
    .source = "Vaswani et al., Attention Is All You Need, arXiv:1706.03762; "
              "Ainslie et al., GQA, arXiv:2305.13245; ONNX Attention",
};

/* rotaryembedding */

static bool
rotaryembedding_infer(const glow_node *n, glow_type out[])
{
    glow_dims x = n->in[0]->type->shape, c = n->in[1]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_kinds(n, 1, 0) ||
        !glow_check_types(n, 2, 1) || !glow_check_rank(n, 0, 4) ||
        !glow_check_rank(n, 1, 3))
        return false;
    if (c.at[2] > x.at[3] / 2)
        return glow_reject(n,
                           "Cos turns %" PRId64 " pairs, but Input has %" PRId64
                           " elements in a row",
                           c.at[2], x.at[3]);
    return glow_check_shape(n, 1, GLOW_DIMS_OF(x.at[0], x.at[2], c.at[2]),
                            "what Input asks for") &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

/* Turns `pairs` pairs of a row in place; the rest stays. */
static void
turn(double *x, int64_t pairs, bool interleaved, const double *c,
     const double *s)
{
    for (int64_t i = 0; i < pairs; i++) {
        int64_t first = interleaved ? 2 * i : i;
        int64_t second = interleaved ? 2 * i + 1 : i + pairs;
        double a = x[first], b = x[second];

        x[first] = c[i] * a - s[i] * b;
        x[second] = s[i] * a + c[i] * b;
    }
}

static bool
rotaryembedding_eval(const glow_node *n, glow_tensor *const in[],
                     glow_tensor *const out[], glow_arena *scratch)
{
    const glow_rotaryembedding *a = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t pairs = in[1]->type->shape.at[2];
    double *row = GLOW_NEW_ARRAY(scratch, double, x.at[3]);
    double *c = GLOW_NEW_ARRAY(scratch, double, pairs);
    double *s = GLOW_NEW_ARRAY(scratch, double, pairs);

    for (int64_t i = 0; i < x.at[0] * x.at[1] * x.at[2]; i++) {
        int64_t at = i / (x.at[1] * x.at[2]) * x.at[2] + i % x.at[2];

        glow_load(in[1], at * pairs, pairs, c);
        glow_load(in[2], at * pairs, pairs, s);
        glow_load(in[0], i * x.at[3], x.at[3], row);
        turn(row, pairs, a->interleaved, c, s);
        glow_store(out[0], i * x.at[3], x.at[3], row);
    }
    return true;
}

const glow_op glow_op_rotaryembedding = {
    .name = "RotaryEmbedding",
    .summary = "turn pairs of elements by angles that tell the position",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [B, H, S, D]"},
           {"Cos", GLOW_TENSOR, "c, of shape [B, S, R], 2 R at most D"},
           {"Sin", GLOW_TENSOR, "s, of the same shape"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_rotaryembedding, interleaved, GLOW_FLAG,
                                 "pairs are neighbours; else R apart")},
    .defaults = &(const glow_rotaryembedding){.interleaved = false},
    .traits = GLOW_PURE,
    .infer = rotaryembedding_infer,
    .eval = rotaryembedding_eval,
    .doc = "A pair `(a, b)` becomes `(c a - s b, s a + c b)`.  What is beyond "
           "the first 2 R elements of a row stays as it is.",
    .source = "Su et al., RoFormer, arXiv:2104.09864; ONNX RotaryEmbedding",
};

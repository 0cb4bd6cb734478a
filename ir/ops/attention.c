/*
 * Attention, and rotary embedding of positions.
 */

#include <math.h>

#include "ir/ops/common.h"

enum { Q, K, V, MASK };

/* attention */

/* Checks that each axis of Mask has the size of the scores' axis, or 1. */
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

/* The attributes of Attention and FusedAttention in one form. */
typedef struct form {
    glow_attention attention;
    bool q_rows, k_rows, v_rows, y_rows;
    bool may_widen; /* K and V may be of 16 bits beside a Q of float */
} form;

static form
plain_form(const glow_node *n)
{
    return (form){.attention = *(const glow_attention *)n->attrs};
}

static form
fused_form(const glow_node *n)
{
    const glow_fusedattention *f = n->attrs;

    return (form){
        .attention = {.scale = f->scale,
                      .soft_cap = f->soft_cap,
                      .causal = f->causal,
                      .past = f->past,
                      .nan_rows = f->nan_rows},
        .q_rows = f->q_rows,
        .k_rows = f->k_rows,
        .v_rows = f->v_rows,
        .y_rows = f->y_rows,
        .may_widen = true,
    };
}

/* [B, H, S, D] as [B, S, H, D], and back, if `by_rows`; else `d`. */
static glow_dims
turned(glow_dims d, bool by_rows)
{
    glow_dims t = d;

    if (by_rows) {
        t.at[1] = d.at[2];
        t.at[2] = d.at[1];
    }
    return t;
}

/*
 * Checks the kind of operand `i`, keys or values: Q's, or a float of 16 bits where
 * Q is float and `may_widen`.
 */
static bool
check_kept(const glow_node *n, int i, bool may_widen)
{
    glow_kind q = n->in[Q]->type->elem, k = n->in[i]->type->elem;

    return (may_widen && q == GLOW_FLOAT &&
            (k == GLOW_FLOAT16 || k == GLOW_BFLOAT16)) ||
           glow_check_kinds(n, i, Q);
}

/* The shape of the scores; false after a report. */
static bool
check_attention(const glow_node *n, const form *f, glow_dims *scores)
{
    const glow_attention *a = &f->attention;
    glow_dims q, k, v;

    if (!glow_admit(n, Q, GLOW_ANY_FLOAT) || !check_kept(n, K, f->may_widen) ||
        !check_kept(n, V, f->may_widen) || !glow_check_rank(n, Q, 4) ||
        !glow_check_rank(n, K, 4) || !glow_check_rank(n, V, 4))
        return false;
    q = turned(n->in[Q]->type->shape, f->q_rows);
    k = turned(n->in[K]->type->shape, f->k_rows);
    v = turned(n->in[V]->type->shape, f->v_rows);
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
    *scores = GLOW_DIMS_OF(q.at[0], q.at[1], q.at[2], k.at[2]);
    k.at[0] = q.at[0];
    k.at[3] = q.at[3];
    v.at[0] = q.at[0];
    v.at[1] = k.at[1];
    v.at[2] = k.at[2];
    return glow_check_shape(n, K, turned(k, f->k_rows), "what Q asks for") &&
           glow_check_shape(n, V, turned(v, f->v_rows), "what K asks for") &&
           check_mask(n, *scores);
}

/* Sets `*out` to the type of Y, `y` with rows of the length of V's. */
static bool
give_sums(const glow_node *n, const form *f, glow_dims y, glow_type *out)
{
    y.at[3] = n->in[V]->type->shape.at[3];
    return glow_give(n, glow_reshaped(n->in[Q]->type, turned(y, f->y_rows)),
                     out);
}

static bool
attention_infer(const glow_node *n, glow_type out[])
{
    const form plain = plain_form(n);
    glow_dims y;

    return check_attention(n, &plain, &y) &&
           glow_give(n, glow_reshaped(n->in[Q]->type, y), &out[1]) &&
           give_sums(n, &plain, y, &out[0]);
}

static bool
fusedattention_infer(const glow_node *n, glow_type out[])
{
    const form fused = fused_form(n);
    glow_dims y;

    return check_attention(n, &fused, &y) && give_sums(n, &fused, y, &out[0]);
}

/* The mask's addend to score [b, h, i, j] = `at`: -inf where it is masked. */
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

/* Softmax of `s` in place; `none` everywhere if all scores are -inf. */
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

/*
 * Scores of row `q` of Q, in `s`; copied to `kept` at the stage that the
 * attributes ask for.
 */
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

/*
 * Rows of one head, of `size` elements each, from position `first` on, `step`
 * apart.
 */
typedef struct rows {
    int64_t first, step, size;
} rows;

static rows
rows_of(const glow_tensor *t, bool by_rows, int64_t batch, int64_t head)
{
    glow_dims d = turned(t->type->shape, by_rows);
    int64_t size = d.at[3], heads = d.at[1], count = d.at[2];

    return by_rows ? (rows){(batch * count * heads + head) * size, heads * size,
                            size}
                   : (rows){(batch * heads + head) * count * size, size, size};
}

static void
load_rows(const glow_tensor *t, rows r, int64_t count, double *to)
{
    for (int64_t i = 0; i < count; i++)
        glow_load(t, r.first + i * r.step, r.size, to + i * r.size);
}

/* Evaluates Attention; writes the scores to `out` too, unless `out` is NULL. */
static bool
eval_attention(const form *f, glow_tensor *const in[], glow_tensor *y,
               glow_tensor *out, glow_arena *scratch)
{
    glow_dims qs = turned(in[Q]->type->shape, f->q_rows);
    glow_dims vs = turned(in[V]->type->shape, f->v_rows);
    int64_t heads = qs.at[1], count = vs.at[2], depth = qs.at[3];
    int64_t width = vs.at[3], group = heads / vs.at[1];
    double *q = GLOW_NEW_ARRAY(scratch, double, depth);
    double *k = GLOW_NEW_ARRAY(scratch, double, count *depth);
    double *v = GLOW_NEW_ARRAY(scratch, double, count *width);
    double *s = GLOW_NEW_ARRAY(scratch, double, count);
    double *kept = GLOW_NEW_ARRAY(scratch, double, count);
    double *sums = GLOW_NEW_ARRAY(scratch, double, width);

    for (int64_t h = 0; h < qs.at[0] * heads; h++) {
        int64_t at[4] = {h / heads, h % heads, 0, 0};
        rows from = rows_of(in[Q], f->q_rows, at[0], at[1]);
        rows to = rows_of(y, f->y_rows, at[0], at[1]);

        load_rows(in[K], rows_of(in[K], f->k_rows, at[0], at[1] / group), count,
                  k);
        load_rows(in[V], rows_of(in[V], f->v_rows, at[0], at[1] / group), count,
                  v);
        for (int64_t i = 0; i < qs.at[2]; i++) {
            at[2] = i;
            glow_load(in[Q], from.first + i * from.step, depth, q);
            score_row(&f->attention, q, k, depth, in[MASK], at, s, kept, count);
            for (int64_t d = 0; d < width; d++) {
                sums[d] = 0;
                for (int64_t j = 0; j < count; j++)
                    sums[d] += s[j] * v[j * width + d];
            }
            glow_store(y, to.first + i * to.step, width, sums);
            if (out)
                glow_store(out, (h * qs.at[2] + i) * count, count, kept);
        }
    }
    return true;
}

static bool
attention_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const form plain = plain_form(n);

    return eval_attention(&plain, in, out[0], out[1], scratch);
}

static bool
fusedattention_eval(const glow_node *n, glow_tensor *const in[],
                    glow_tensor *const out[], glow_arena *scratch)
{
    const form fused = fused_form(n);

    return eval_attention(&fused, in, out[0], NULL, scratch);
}

static int64_t
attention_flops(const glow_node *n)
{
    glow_dims k = n->in[K]->type->shape, v = n->in[V]->type->shape;

    return glow_multiply_adds(n->out[1], k.at[3] + v.at[3]);
}

static int64_t
fusedattention_flops(const glow_node *n)
{
    const glow_fusedattention *f = n->attrs;
    glow_dims k = turned(n->in[K]->type->shape, f->k_rows);

    return glow_multiply_adds(n->out[0], 2 * k.at[2]);
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
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_PRODUCT,
    .infer = attention_infer,
    .eval = attention_eval,
    .flops = attention_flops,
    .doc = "`Y = softmax(cap(Scale Q K^T) + mask) V`, head h with head `h / (H "
           "/ G)` of K and V.  A row that sees nothing gives 0, or "
           "NaN with NanRows.",
    .source = "Vaswani et al., Attention Is All You Need, arXiv:1706.03762; "
              "Ainslie et al., GQA, arXiv:2305.13245; ONNX Attention",
};

/* fusedattention */

const glow_op glow_op_fusedattention = {
    .name = "FusedAttention",
    .summary =
        "Attention of heads that lie side by side or one after the other",
    .in = {{"Q", GLOW_TENSOR, "[B, H, S, D], or [B, S, H, D] with QRows"},
           {"K", GLOW_TENSOR, "[B, G, T, D], or [B, T, G, D] with KRows"},
           {"V", GLOW_TENSOR, "[B, G, T, E], or [B, T, G, E] with VRows"},
           {"Mask", GLOW_OPTIONAL, "as that of Attention"}},
    .out = {{"Y", GLOW_TENSOR, "[B, H, S, E], or [B, S, H, E] with YRows"}},
    .attrs = {GLOW_FIELD(glow_fusedattention, scale, GLOW_FLOAT32,
                         "what the products of Q and K are multiplied by"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, soft_cap, GLOW_FLOAT32,
                                 "as that of Attention"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, causal, GLOW_FLAG,
                                 "row i of Q sees those of K up to i + Past"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, past, GLOW_INT64,
                                 "how many rows of K come before Q's first"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, nan_rows, GLOW_FLAG,
                                 "a row that sees nothing gives NaN, not 0"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, q_rows, GLOW_FLAG,
                                 "the rows of Q lie before its heads"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, k_rows, GLOW_FLAG,
                                 "those of K do"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, v_rows, GLOW_FLAG,
                                 "those of V do"),
              GLOW_FIELD_DEFAULT(glow_fusedattention, y_rows, GLOW_FLAG,
                                 "those of Y do")},
    .defaults = &(const glow_fusedattention){.q_rows = false},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = fusedattention_infer,
    .eval = fusedattention_eval,
    .flops = fusedattention_flops,
    .doc = "Results of projections need no Transpose before or after it, and "
           "no scores are kept.  K and V may be of float16 or bfloat16 beside "
           "a Q of float, as caches are: they are computed with as floats.",
    .source = "Dao et al., FlashAttention, arXiv:2205.14135",
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

/* Rotates `pairs` pairs of a row in place; the remaining elements stay. */
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

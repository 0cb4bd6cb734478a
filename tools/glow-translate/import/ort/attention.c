/*
 * Attention of ONNX Runtime: over one projection of the input (Attention), over
 * three (MultiHeadAttention), and over groups of heads with a cache
 * (GroupQueryAttention); and its rotary embedding.
 *
 * All become the operator Attention of heads [B, H, S, D].  Masked scores get
 * `mask_filter_value` added; future ones, -inf.
 */

#include <inttypes.h>
#include <math.h>

#include "tools/glow-translate/import/ort/ort.h"

/* 0, 1 ... along the last of `rank` axes. */
static glow_value *
numbers(import_node *n, int64_t count, int rank)
{
    int64_t *at = GLOW_NEW_ARRAY(import_arena(n), int64_t, count);
    glow_dims shape = {.rank = rank};

    for (int64_t i = 0; i < count; i++)
        at[i] = i;
    for (int i = 0; i < rank; i++)
        shape.at[i] = i == rank - 1 ? count : 1;
    return import_constant_ints(n, shape, at);
}

static glow_value *
add_number(import_node *n, glow_value *v, int64_t by)
{
    return import_binary(n, &glow_op_add, v,
                         import_constant_splat(n, GLOW_INDEX64, import_shape(v),
                                               (double)by, by));
}

/* 0 where `seen` holds, else `filter`. */
static glow_value *
penalty(import_node *n, glow_value *seen, glow_kind kind, double filter)
{
    glow_value *none, *much;

    if (n->failed || !seen)
        return NULL;
    none = import_splat(n, kind, seen->type->shape, 0);
    much = import_constant_splat(n, kind, seen->type->shape, filter, 0);
    return BUILD_PLAIN(n, select, GLOW_IN(seen, none, much));
}

/* Mask operand i as bool of four axes, true where a key is seen. */
static glow_value *
seen_by(import_node *n, int i, glow_dims scores)
{
    glow_value *m = import_in(n, i), *seen;
    glow_dims s = import_shape(m), to = GLOW_DIMS_OF(s.at[0], 1, 1, 1);
    int64_t batch = scores.at[0], count = scores.at[3];

    if (n->failed || !m)
        return NULL;
    if (!glow_is_int(m->type->elem)) {
        import_refuse(n, "E0711", "the mask (operand %d) must hold integers",
                      i);
        return NULL;
    }
    if (s.rank == 1 && (s.at[0] == batch || s.at[0] == 2 * batch)) {
        glow_value *end, *start, *at = numbers(n, count, 4);

        to.at[0] = batch;
        m = import_convert(n, m, GLOW_INDEX64);
        end = import_reshape(n, import_cut(n, m, 0, 0, batch), to);
        seen = import_binary(n, &glow_op_cmplt, at, end);
        if (s.at[0] == batch)
            return seen;
        start = import_reshape(n, import_cut(n, m, 0, batch, batch), to);
        return import_binary(n, &glow_op_and, seen,
                             import_binary(n, &glow_op_cmplte, start, at));
    }
    to.at[3] = count;
    to.at[2] = s.rank == 3 ? scores.at[2] : 1;
    if ((s.rank != 2 && s.rank != 3) || s.at[0] != batch ||
        s.at[s.rank - 1] != count || (s.rank == 3 && s.at[1] != to.at[2])) {
        glow_buf text = {.arena = import_arena(n)};

        glow_buf_dims(&text, s);
        import_refuse(n, "E0705",
                      "a mask (operand %d) of shape %s for a batch of %" PRId64
                      ", %" PRId64 " queries and %" PRId64
                      " keys is not supported",
                      i, text.text, batch, scores.at[2], count);
        return NULL;
    }
    m = import_reshape(n, m, to);
    return import_binary(n, &glow_op_cmplt,
                         import_constant_splat(n, m->type->elem, to, 0, 0), m);
}

/*
 * The sum of a mask and the bias operand of four axes, or the present one of
 * them.
 */
static glow_value *
both(import_node *n, glow_value *mask, int bias)
{
    glow_value *b = import_in(n, bias);

    if (!b || !ort_check_rank(n, bias, 4))
        return mask;
    return mask ? import_binary(n, &glow_op_add, mask, b) : b;
}

/* Attributes that both have. */
typedef struct form {
    int64_t heads;
    double filter;
    float scale; /* 0: by the size of a head */
    bool causal;
} form;

static form
read_form(import_node *n)
{
    form f = {
        .heads = import_int(n, "num_heads", 0, 1, INT32_MAX),
        .filter = (double)import_float(n, "mask_filter_value", -10000),
        .scale = import_float(n, "scale", 0),
        .causal = import_flag(n, "unidirectional", false),
    };

    if (!import_has(n, "num_heads"))
        import_refuse(n, "E0710", "num_heads is missing");
    return f;
}

/* The operator over heads, with a mask and a bias; NULL after a report. */
static glow_node *
attend(import_node *n, const form *f, glow_value *q, glow_value *k,
       glow_value *v, int mask, int bias, int64_t past)
{
    glow_dims s = import_shape(q);
    glow_value *m, *y;
    glow_attention a = {
        .causal = f->causal, .past = past, .scores = GLOW_SCORES_MASKED};

    if (n->failed || !q || !k || !v)
        return NULL;
    s.at[3] = k->type->shape.at[2];
    m = penalty(n, seen_by(n, mask, s), q->type->elem, f->filter);
    m = both(n, m, bias);
    a.scale = f->scale != 0 ? f->scale
                            : (float)(1 / sqrt((double)q->type->shape.at[3]));
    if (n->failed)
        return NULL;
    y = import_build(n, &glow_op_attention, NULL, GLOW_IN(q, k, v, m), &a);
    return y ? y->def : NULL;
}

/* Columns of queries, keys and values: `sizes` or a third each. */
static bool
read_sizes(import_node *n, int64_t width, int64_t sizes[3])
{
    glow_ints l = import_ints(n, "qkv_hidden_sizes");
    int64_t sum = 0;

    if (l.count != 0 && l.count != 3)
        return import_refuse(
            n, "E0710",
            "qkv_hidden_sizes has %" PRId64 " entries, but 3 are due", l.count);
    for (int i = 0; i < 3; i++) {
        sizes[i] = l.count ? l.at[i] : width / 3;
        if (sizes[i] < 1 || sizes[i] > width)
            return import_refuse(n, "E0710",
                                 "qkv_hidden_sizes[%d] is %" PRId64
                                 ", which is not within 1 to %" PRId64,
                                 i, sizes[i], width);
        sum += sizes[i];
    }
    return sum == width && sizes[0] == sizes[1]
               ? true
               : import_refuse(n, "E0711",
                               "queries, keys and values of %" PRId64
                               ", %" PRId64 " and %" PRId64
                               " columns do not fit %" PRId64,
                               sizes[0], sizes[1], sizes[2], width);
}

static bool
attention(import_node *n)
{
    enum { X, W, BIAS, MASK, PAST, ADDED };
    form f = read_form(n);
    glow_value *x, *q, *k, *v, *past_k = NULL, *past_v = NULL;
    glow_node *y;
    int64_t sizes[3], past = 0;

    import_int(n, "do_rotary", 0, 0, 0);
    import_int(n, "past_present_share_buffer", 0, 0, 0);
    import_ignore(n, "rotary_embedding_dim");
    if (!import_operands(n, 2, 6) || !ort_check_rank(n, X, 3) ||
        !ort_check_rank(n, W, 2) || !ort_check_rank(n, PAST, 5) ||
        !read_sizes(n, import_shape(import_in(n, W)).at[1], sizes))
        return false;
    x = import_as(n, "MatMul", ORT_OPSET, n->in, 2);
    x = ort_add(n, x, import_in(n, BIAS));
    q = import_split_heads(n, import_cut(n, x, 2, 0, sizes[0]), f.heads,
                           "a query");
    k = import_split_heads(n, import_cut(n, x, 2, sizes[0], sizes[1]), f.heads,
                           "a key");
    v = import_split_heads(n,
                           import_cut(n, x, 2, sizes[0] + sizes[1], sizes[2]),
                           f.heads, "a value");
    if (import_in(n, PAST) && !n->failed) {
        glow_dims s = import_shape(import_in(n, PAST)),
                  each = GLOW_DIMS_OF(s.at[1], s.at[2], s.at[3], s.at[4]);

        if (!ort_check_shape(n, PAST,
                             GLOW_DIMS_OF(2, import_shape(k).at[0], f.heads, -1,
                                          import_shape(k).at[3])))
            return false;
        past = s.at[3];
        past_k =
            import_reshape(n, import_cut(n, import_in(n, PAST), 0, 0, 1), each);
        past_v =
            import_reshape(n, import_cut(n, import_in(n, PAST), 0, 1, 1), each);
    }
    k = import_after_past(n, past_k, k);
    v = import_after_past(n, past_v, v);
    y = attend(n, &f, q, k, v, MASK, ADDED, past);
    if (!y)
        return false;
    if (import_wants(n, 1)) {
        glow_dims s = import_shape(k),
                  one = GLOW_DIMS_OF(1, s.at[0], s.at[1], s.at[2], s.at[3]);

        k = import_reshape(n, k, one);
        v = import_reshape(n, v, one);
        import_give(n, 1, BUILD(n, concat, GLOW_IN(k, v), .dim = 0));
    }
    return import_done(n, import_join_heads(n, y->out[0]));
}

/* Part i of a packed operand [B, S, H, parts, D], as [B, H, S, D]. */
static glow_value *
packed(import_node *n, glow_value *v, int64_t i)
{
    glow_dims s = import_shape(v);

    v = import_reshape(n, import_cut(n, v, 3, i, 1),
                       GLOW_DIMS_OF(s.at[0], s.at[1], s.at[2], s.at[4]));
    return import_transpose(n, v, GLOW_DIMS_OF(0, 2, 1, 3));
}

/* Elements [from, from + size) of the bias, one for each column of `v`. */
static glow_value *
biased(import_node *n, glow_value *v, int64_t *from)
{
    glow_value *b = import_in(n, 3);
    glow_dims s = import_shape(v), each = GLOW_DIMS_OF(1, s.at[1], 1, s.at[3]);
    int64_t size = s.at[1] * s.at[3];

    if (n->failed || !v || !b)
        return v;
    if (b->type->shape.rank != 1 || b->type->shape.at[0] < *from + size) {
        import_refuse(n, "E0711",
                      "the bias has not the %" PRId64
                      " elements that are due, but %" PRId64,
                      *from + size, glow_dims_count(b->type->shape));
        return NULL;
    }
    b = import_cut(n, b, 0, *from, size);
    *from += size;
    return ort_add(n, v, import_reshape(n, b, each));
}

static bool
multi_head(import_node *n)
{
    enum { Q, K, V, BIAS, MASK, ADDED, PAST_K, PAST_V };
    form f = read_form(n);
    glow_value *q, *k, *v;
    glow_dims s;
    glow_node *y;
    int64_t from = 0, past = 0;

    if (!import_operands(n, 1, 8) || !ort_check_rank(n, PAST_K, 4) ||
        !ort_check_rank(n, PAST_V, 4))
        return false;
    q = import_in(n, Q);
    k = import_in(n, K);
    v = import_in(n, V);
    s = import_shape(q);
    if (!k && !v && s.rank == 5) {
        if (!ort_check_shape(n, Q, GLOW_DIMS_OF(-1, -1, f.heads, 3, -1)))
            return false;
        k = packed(n, q, 1);
        v = packed(n, q, 2);
        q = packed(n, q, 0);
    } else if (k && !v && import_shape(k).rank == 5) {
        if (!ort_check_shape(n, K, GLOW_DIMS_OF(-1, -1, f.heads, 2, -1)))
            return false;
        v = packed(n, k, 1);
        k = packed(n, k, 0);
        q = import_split_heads(n, q, f.heads, "a query");
    } else if (k && v && s.rank == 3) {
        q = import_split_heads(n, q, f.heads, "a query");
        k = import_split_heads(n, k, f.heads, "a key");
        v = import_split_heads(n, v, f.heads, "a value");
    } else {
        return import_refuse(n, "E0705",
                             "a query of rank %d %s key and %s value is not "
                             "supported",
                             s.rank, k ? "with a" : "without", v ? "a" : "no");
    }
    q = biased(n, q, &from);
    /* Keys and values of rank 4, from a cache, include their bias. */
    if (import_shape(import_in(n, K)).rank != 4) {
        k = biased(n, k, &from);
        v = biased(n, v, &from);
    }
    if (import_in(n, PAST_K))
        past = import_shape(import_in(n, PAST_K)).at[2];
    k = import_after_past(n, import_in(n, PAST_K), k);
    v = import_after_past(n, import_in(n, PAST_V), v);
    y = attend(n, &f, q, k, v, MASK, ADDED, past);
    if (!y)
        return false;
    import_give(n, 1, k);
    import_give(n, 2, v);
    import_give(n, 3, y->out[1]);
    return import_done(n, import_join_heads(n, y->out[0]));
}

/* Rotary embedding. */

/*
 * Rows of a cache of angles for positions [B, S]; or its S rows from a given
 * one on.
 */
static glow_value *
angles(import_node *n, int cache, glow_value *positions, glow_dims x)
{
    glow_value *v = import_in(n, cache);
    glow_dims s;

    if (n->failed || !v || !ort_check_rank(n, cache, 2))
        return NULL;
    v = BUILD(n, gather, GLOW_IN(v, positions), .axis = 0);
    s = import_shape(v);
    return import_broadcast(n, v, GLOW_DIMS_OF(x.at[0], x.at[2], s.at[2]));
}

static glow_value *
rotated(import_node *n, glow_value *x, int cache, glow_value *positions,
        bool interleaved)
{
    glow_value *c, *s;

    if (n->failed || !x)
        return NULL;
    c = angles(n, cache, positions, x->type->shape);
    s = angles(n, cache + 1, positions, x->type->shape);
    return BUILD(n, rotaryembedding, GLOW_IN(x, c, s),
                 .interleaved = interleaved);
}

static bool
rotary(import_node *n)
{
    bool interleaved = import_flag(n, "interleaved", false), is_joined;
    int64_t heads = import_int(n, "num_heads", 0, 0, INT32_MAX);
    int64_t size = import_int(n, "rotary_embedding_dim", 0, 0, INT32_MAX);
    glow_value *x, *at;
    glow_dims s;

    import_int(n, "is_packed_batching", 0, 0, 0);
    if (import_float(n, "scale", 1) != 1)
        return import_refuse(n, "E0705", "a scale other than 1");
    if (!import_operands(n, 4, 4) || !ort_check_rank(n, 2, 2))
        return false;
    s = import_shape(import_in(n, 2));
    x = import_in(n, 0);
    is_joined = x->type->shape.rank == 3;
    if (is_joined && heads == 0)
        heads = s.at[1] > 0 ? x->type->shape.at[2] / (2 * s.at[1]) : 0;
    if (is_joined && heads < 1)
        return import_refuse(n, "E0710", "num_heads is missing");
    if (size && size != 2 * s.at[1])
        return import_refuse(n, "E0711",
                             "rotary_embedding_dim is %" PRId64
                             ", but the cache has %" PRId64 " angles",
                             size, s.at[1]);
    x = import_split_heads(n, x, heads, "the operand");
    if (n->failed || x->type->shape.rank != 4)
        return import_refuse(n, "E0711",
                             "the rank of the operand is %d, but must be 3 or "
                             "4",
                             import_shape(x).rank);
    at = import_convert(n, import_in(n, 1), GLOW_INDEX64);
    s = import_shape(at);
    if (s.rank == 1 && s.at[0] == 1)
        at = import_binary(n, &glow_op_add,
                           import_reshape(n, at, GLOW_DIMS_OF(1, 1)),
                           numbers(n, x->type->shape.at[2], 2));
    else if (s.rank != 2)
        return import_refuse(n, "E0711",
                             "position_ids of rank %d, but one number or "
                             "rank 2 are due",
                             s.rank);
    x = rotated(n, x, 2, at, interleaved);
    return import_done(n, is_joined && x ? import_join_heads(n, x) : x);
}

/* GroupQueryAttention. */

enum {
    Q,
    K,
    V,
    PAST_K,
    PAST_V,
    LENGTHS,
    TOTAL,
    COS,
    SIN,
    POSITIONS,
    BIAS,
    SINK,
    K_SCALE,
    V_SCALE,
    Q_NORM,
    K_NORM
};

typedef struct cache {
    int64_t batch, heads, groups, queries;
    int64_t total; /* upper bound of keys, new ones included */
    int64_t rows;  /* of the past cache */
    int64_t known; /* past keys, if constant and equal for the batch; or -1 */
    glow_value *before; /* past keys, [B], if not constant */
    int64_t window;     /* keys that a query sees; 0: all */
    bool causal;
    bool sinks; /* there is an additional key that all queries see */
} cache;

/* Reads the number of past keys for each of the batch. */
static void
read_before(import_node *n, cache *c)
{
    glow_value *lengths = import_in(n, LENGTHS);

    c->known = -1;
    if (c->queries == c->total)
        c->known = 0;
    else if (c->batch == 1)
        c->known = c->total - c->queries;
    else if (import_is_known(n, LENGTHS)) {
        glow_ints l = import_known_ints(n, LENGTHS);

        c->known = l.count == c->batch ? l.at[0] + 1 - c->queries : -1;
        for (int64_t i = 1; i < l.count; i++)
            if (l.at[i] != l.at[0])
                c->known = -1;
    }
    if (c->known > c->rows || (c->known < 0 && c->total - c->queries > c->rows))
        import_refuse(n, "E0711",
                      "%" PRId64 " keys in all, but the cache has %" PRId64
                      " and %" PRId64 " are new",
                      c->total, c->rows, c->queries);
    if (c->known >= 0 && (c->causal || c->batch == 1))
        return;
    /* Without a causal mask, padding keys must be masked. */
    lengths = import_convert(
        n, import_reshape(n, lengths, GLOW_DIMS_OF(c->batch)), GLOW_INDEX64);
    c->before = add_number(n, lengths, 1 - c->queries);
}

/* The cache with the new rows inserted behind the past ones. */
static glow_value *
filled(import_node *n, const cache *c, int past, glow_value *v)
{
    glow_value *p = import_in(n, past), *at, *from, *row, *end;
    glow_dims wide;
    int64_t size, end_of_new = c->known + c->queries;

    if (n->failed || !v)
        return NULL;
    if (c->known >= 0) {
        glow_value *y =
            c->known ? import_after_past(n, import_cut(n, p, 2, 0, c->known), v)
                     : v;

        return c->rows <= end_of_new
                   ? y
                   : import_after_past(
                         n, y,
                         import_cut(n, p, 2, end_of_new, c->rows - end_of_new));
    }
    /* Row i is past row i, new row i - before, or past row i again. */
    size = c->rows > c->total ? c->rows : c->total;
    wide = GLOW_DIMS_OF(c->batch, size);
    at = import_broadcast(n, numbers(n, size, 2), wide);
    row = import_broadcast(
        n, import_reshape(n, c->before, GLOW_DIMS_OF(c->batch, 1)), wide);
    end = add_number(n, row, c->queries);
    from = add_number(n, import_binary(n, &glow_op_sub, at, row), c->rows);
    if (n->failed)
        return NULL;
    from = BUILD_PLAIN(
        n, select,
        GLOW_IN(import_binary(n, &glow_op_cmplt, at, end), from, at));
    from = BUILD_PLAIN(
        n, select,
        GLOW_IN(import_binary(n, &glow_op_cmplt, at, row), at, from));
    return BUILD(n, gather, GLOW_IN(import_after_past(n, p, v), from),
                 .axis = 2, .batch_dims = 1);
}

/*
 * The mask of `count` keys that each query sees; NULL: all that are not later.
 */
static glow_value *
in_sight(import_node *n, const cache *c, int64_t count)
{
    glow_value *key, *query, *seen, *first;

    if (!c->before && !(c->causal && (c->window || c->sinks)))
        return NULL;
    key = numbers(n, count, 4);
    query = import_reshape(n, numbers(n, c->queries, 1),
                           GLOW_DIMS_OF(1, 1, c->queries, 1));
    if (c->before)
        query = import_binary(
            n, &glow_op_add, query,
            import_reshape(n, c->before, GLOW_DIMS_OF(c->batch, 1, 1, 1)));
    else
        query = add_number(n, query, c->known);
    if (!c->causal) {
        query = import_reshape(n, c->before, GLOW_DIMS_OF(c->batch, 1, 1, 1));
        return import_binary(n, &glow_op_cmplt, key,
                             add_number(n, query, c->queries));
    }
    seen = import_binary(n, &glow_op_cmplte, key, query);
    if (!c->window)
        return seen;
    first = add_number(n, query, -c->window);
    return import_binary(n, &glow_op_and, seen,
                         import_binary(n, &glow_op_cmplt, first, key));
}

/* Appends a key of zeros, whose score is `sink` by its bias. */
static glow_value *
one_more(import_node *n, glow_value *v)
{
    glow_dims s = import_shape(v);

    s.at[2] = 1;
    return n->failed ? NULL
                     : BUILD(n, concat,
                             GLOW_IN(v, import_splat(n, v->type->elem, s, 0)),
                             .dim = 2);
}

static glow_value *
with_sink(import_node *n, const cache *c, glow_value *mask, glow_kind kind,
          int64_t count)
{
    glow_value *sink = import_in(n, SINK);
    glow_dims s = GLOW_DIMS_OF(1, c->heads, 1, 1), to;

    sink = sink ? import_reshape(n, sink, s) : import_splat(n, kind, s, 0);
    to = mask ? mask->type->shape : GLOW_DIMS_OF(1, 1, 1, count);
    if (!mask)
        mask = import_splat(n, kind, to, 0);
    to.at[1] = c->heads;
    to.at[3] = count;
    mask = import_broadcast(n, mask, to);
    to.at[3] = 1;
    sink = import_broadcast(n, sink, to);
    return n->failed ? NULL : BUILD(n, concat, GLOW_IN(mask, sink), .dim = 3);
}

/* Positions [1 or B, S] of the queries. */
static glow_value *
positions_of(import_node *n, const cache *c)
{
    glow_value *at = numbers(n, c->queries, 2);

    if (import_in(n, POSITIONS))
        return import_in(n, POSITIONS);
    if (c->known >= 0)
        return add_number(n, at, c->known);
    return import_binary(
        n, &glow_op_add, at,
        import_reshape(n, c->before, GLOW_DIMS_OF(c->batch, 1)));
}

static glow_value *
head_normed(import_node *n, glow_value *v, int scale, float epsilon)
{
    if (n->failed || !v || !import_in(n, scale))
        return v;
    return BUILD(n, rmsnormalization, GLOW_IN(v, import_in(n, scale)),
                 .axis = 3, .epsilon = epsilon);
}

/* Forms that are refused by name. */
static bool
check_group_query(import_node *n)
{
    static const char *const none[] = {"NONE", NULL};

    import_word(n, "k_quant_type", "NONE", none);
    import_word(n, "v_quant_type", "NONE", none);
    import_int(n, "sliding_window_cache", 0, 0, 0);
    import_int(n, "qk_output", 0, 0, 0);
    import_ignore(n, "kv_cache_bit_width");
    for (int i = 0; i < n->n_in; i++) {
        if ((i == K_SCALE || i == V_SCALE) && n->in[i])
            return import_refuse(n, "E0705",
                                 "operand %d, the scale of a quantized cache, "
                                 "is not supported",
                                 i);
        if ((i == Q || i == LENGTHS || i == TOTAL) && !n->in[i])
            return import_refuse(n, "E0711", "operand %d is missing", i);
    }
    return import_operands(n, 1, 16) &&
           (n->n_in > TOTAL ||
            import_refuse(n, "E0711", "%d operands, but 7 to 16 are due",
                          n->n_in)) &&
           ort_check_rank(n, Q, 3) && ort_check_rank(n, PAST_K, 4) &&
           ort_check_rank(n, PAST_V, 4);
}

static bool
group_query(import_node *n)
{
    cache c = {.heads = import_int(n, "num_heads", 0, 1, INT32_MAX),
               .groups = import_int(n, "kv_num_heads", 0, 1, INT32_MAX),
               .window = import_int(n, "local_window_size", -1, -1, INT32_MAX),
               .causal = import_flag(n, "causal", true),
               .sinks = import_int(n, "smooth_softmax", 0, -1, 1) == 1 ||
                        import_in(n, SINK) != NULL};
    bool turns = import_flag(n, "do_rotary", false);
    bool interleaved = import_flag(n, "rotary_interleaved", false);
    float epsilon = import_float(n, "qk_norm_epsilon", 1e-6f);
    glow_attention a = {.soft_cap = import_float(n, "softcap", 0),
                        .scale = import_float(n, "scale", 0)};
    glow_value *q, *k, *v, *mask, *y;
    glow_dims s;
    int64_t count;
    double total;

    if (!check_group_query(n))
        return false;
    if (!c.heads || !c.groups)
        return import_refuse(n, "E0710", "%s is missing",
                             c.heads ? "kv_num_heads" : "num_heads");
    c.window = c.window < 0 ? 0 : c.window;
    if (c.window && !c.causal)
        return import_refuse(n, "E0705",
                             "local_window_size without causal is not "
                             "supported");
    q = import_in(n, Q);
    k = import_in(n, K);
    v = import_in(n, V);
    s = q->type->shape;
    if (!k != !v)
        return import_refuse(n, "E0711", "key and value go together");
    if (!k) {
        int64_t size = s.at[2] / (c.heads + 2 * c.groups);

        if (size < 1 || size * (c.heads + 2 * c.groups) != s.at[2])
            return import_refuse(n, "E0711",
                                 "%" PRId64 " columns cannot be split into "
                                 "%" PRId64 " heads",
                                 s.at[2], c.heads + 2 * c.groups);
        k = import_cut(n, q, 2, c.heads * size, c.groups * size);
        v = import_cut(n, q, 2, (c.heads + c.groups) * size, c.groups * size);
        q = import_cut(n, q, 2, 0, c.heads * size);
    }
    c.batch = s.at[0];
    c.queries = s.at[1];
    total = import_known_number(n, TOTAL);
    c.total = total >= 1 && total <= INT32_MAX ? (int64_t)total : 0;
    if (import_in(n, PAST_K))
        c.rows = import_shape(import_in(n, PAST_K)).at[2];
    if (n->failed)
        return false;
    if (c.total < c.queries)
        return import_refuse(n, "E0711",
                             "total_sequence_length is %" PRId64
                             ", but %" PRId64 " keys are new",
                             c.total, c.queries);
    q = import_split_heads(n, q, c.heads, "a query");
    k = import_split_heads(n, k, c.groups, "a key");
    v = import_split_heads(n, v, c.groups, "a value");
    q = head_normed(n, q, Q_NORM, epsilon);
    k = head_normed(n, k, K_NORM, epsilon);
    read_before(n, &c);
    if (turns) {
        glow_value *at = n->failed ? NULL : positions_of(n, &c);

        q = rotated(n, q, COS, at, interleaved);
        k = rotated(n, k, COS, at, interleaved);
    }
    k = filled(n, &c, PAST_K, k);
    v = filled(n, &c, PAST_V, v);
    if (n->failed)
        return false;
    import_give(n, 1, k);
    import_give(n, 2, v);
    count = c.total;
    k = import_cut(n, k, 2, 0, count);
    v = import_cut(n, v, 2, 0, count);
    mask = penalty(n, in_sight(n, &c, count), q->type->elem, -INFINITY);
    a.causal = c.causal && !mask;
    a.past = c.known > 0 ? c.known : 0;
    mask = both(n, mask, BIAS);
    if (c.sinks) {
        mask = with_sink(n, &c, mask, q->type->elem, count);
        k = one_more(n, k);
        v = one_more(n, v);
    }
    if (a.scale == 0)
        a.scale = (float)(1 / sqrt((double)import_shape(q).at[3]));
    y = import_build(n, &glow_op_attention, NULL, GLOW_IN(q, k, v, mask), &a);
    return y && import_done(n, import_join_heads(n, y));
}

const import_row import_ort_attention_rows[] = {
    {"com.microsoft.Attention", 1, 0, attention, &glow_op_attention,
     "floats; masks of ranks 1 to 3; do_rotary and past_present_share_buffer "
     "are refused"},
    {"com.microsoft.GroupQueryAttention", 1, 0, group_query, &glow_op_attention,
     "floats; total_sequence_length must be known; seqlens_k may be computed; "
     "quantized and windowed caches and qk_output are refused"},
    {"com.microsoft.MultiHeadAttention", 1, 0, multi_head, &glow_op_attention,
     "floats; masks of ranks 1 to 3; shared buffers are refused"},
    {"com.microsoft.RotaryEmbedding", 1, 0, rotary, &glow_op_rotaryembedding,
     "floats; ranks 3 and 4; is_packed_batching is refused"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/*
 * Attention and rotary embedding, of opset 23; attention over a padded cache
 * and the scatter that fills one, of opset 24.  Operands of rank 3 have the
 * heads concatenated in rows; Glow has a separate axis of heads.
 */

#include <inttypes.h>
#include <math.h>

#include "tools/glow-translate/import/import.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };

glow_value *
import_split_heads(import_node *n, glow_value *v, int64_t heads,
                   const char *what)
{
    glow_dims s = import_shape(v);

    if (n->failed || !v || s.rank == 4)
        return v;
    if (s.rank != 3 || heads < 1 || s.at[2] % heads != 0) {
        import_refuse(n, "E0711",
                      "%s of rank %d cannot be split into %" PRId64 " heads",
                      what, s.rank, heads);
        return NULL;
    }
    v = import_reshape(n, v,
                       GLOW_DIMS_OF(s.at[0], s.at[1], heads, s.at[2] / heads));
    return import_transpose(n, v, GLOW_DIMS_OF(0, 2, 1, 3));
}

glow_value *
import_join_heads(import_node *n, glow_value *v)
{
    glow_dims s = import_shape(v);

    v = import_transpose(n, v, GLOW_DIMS_OF(0, 2, 1, 3));
    return import_reshape(n, v,
                          GLOW_DIMS_OF(s.at[0], s.at[2], s.at[1] * s.at[3]));
}

glow_value *
import_after_past(import_node *n, glow_value *past, glow_value *v)
{
    if (n->failed || !past || past->type->shape.at[2] == 0)
        return v;
    return BUILD(n, concat, GLOW_IN(past, v), .dim = 2);
}

void
import_give(import_node *n, int result, glow_value *v)
{
    if (result < n->n_out)
        n->out[result] = v;
}

/* Operand `past` of rank 4, then what is new, along the rows. */
static glow_value *
after_past(import_node *n, int past, glow_value *v)
{
    glow_value *p = import_in(n, past);

    if (!n->failed && p && p->type->shape.rank != 4) {
        import_refuse(n, "E0711", "the rank of operand %d is %d, but must be 4",
                      past, p->type->shape.rank);
        return v;
    }
    return import_after_past(n, p, v);
}

/* The mask with four axes; a narrow mask masks the keys beyond its width. */
static glow_value *
read_mask(import_node *n, int64_t count)
{
    glow_value *m = import_in(n, MASK);
    glow_dims s = import_shape(m), to = {.rank = 4, .at = {1, 1, 1, 1}};

    if (n->failed || !m)
        return NULL;
    if (s.rank < 2 || s.rank > 4) {
        import_refuse(n, "E0711",
                      "the rank of the mask is %d, but must be 2 to 4", s.rank);
        return NULL;
    }
    for (int i = 0; i < s.rank; i++)
        to.at[4 - s.rank + i] = s.at[i];
    m = import_reshape(n, m, to);
    if (!n->failed && m->type->elem != GLOW_BOOL)
        m = import_convert(n, m, import_in(n, Q)->type->elem);
    if (n->failed)
        return NULL;
    if (to.at[3] != 1 && to.at[3] < count) {
        bool is_bool = m->type->elem == GLOW_BOOL;
        glow_dims more = to;

        more.at[3] = count - to.at[3];
        m = BUILD(n, concat,
                  GLOW_IN(m, import_constant_splat(n, m->type->elem, more,
                                                   is_bool ? 0 : -INFINITY, 0)),
                  .dim = 3);
    }
    return m;
}

/*
 * The mask [B, 1, S or 1, T] of keys that exist, lengths L of them:
 *
 *     j < L[b]                  causal: j - i + S - 1 < L[b]
 *
 * The causal form aligns the last row of Q with the last key, so that row i is
 * key i + L[b] - S; it implies the other form because i is at most S - 1.
 */
static glow_value *
exists(import_node *n, glow_value *lengths, int64_t rows, int64_t count,
       bool causal)
{
    int64_t lines = causal ? rows : 1, total;
    int64_t *at;
    glow_value *keys;

    if (n->failed || glow_mul_overflow(lines, count, &total) ||
        total > INT64_C(1) << 27) {
        import_refuse(n, "E0711",
                      "a mask of %" PRId64 " x %" PRId64 " is too large", lines,
                      count);
        return NULL;
    }
    at = GLOW_NEW_ARRAY(import_arena(n), int64_t, total + 1);
    for (int64_t i = 0; i < total; i++)
        at[i] = causal ? i % count - i / count + rows - 1 : i;
    keys = import_constant_ints(n, GLOW_DIMS_OF(1, 1, lines, count), at);
    return import_binary(n, &glow_op_cmplt, keys,
                         import_convert(n, lengths, GLOW_INDEX64));
}

/* The mask where `seen` is true, and masked elsewhere. */
static glow_value *
limit_mask(import_node *n, glow_value *mask, glow_value *seen)
{
    glow_dims shape;
    glow_value *hidden;

    if (n->failed || !mask)
        return seen;
    if (mask->type->elem == GLOW_BOOL)
        return import_binary(n, &glow_op_and, mask, seen);
    shape = import_broadcast_shape(n, import_shape(mask), import_shape(seen));
    hidden = import_splat(n, mask->type->elem, shape, -INFINITY);
    mask = import_broadcast(n, mask, shape);
    seen = import_broadcast(n, seen, shape);
    return n->failed ? NULL
                     : BUILD_PLAIN(n, select, GLOW_IN(seen, mask, hidden));
}

/* nonpad_kv_seqlen: masks the padding behind the keys of each sample. */
static glow_value *
mask_padding(import_node *n, glow_attention *a, glow_value *mask, glow_dims q,
             glow_dims k)
{
    glow_value *lengths = import_in(n, LENGTHS);
    glow_dims s = import_shape(lengths);

    if (n->failed || !lengths)
        return mask;
    if (import_in(n, PAST_K) || import_in(n, PAST_V)) {
        import_refuse(n, "E0711",
                      "nonpad_kv_seqlen and a past exclude each "
                      "other");
        return NULL;
    }
    if (s.rank != 1 || s.at[0] != q.at[0]) {
        import_refuse(n, "E0711",
                      "nonpad_kv_seqlen must be a list of %" PRId64
                      " lengths, one for each sample",
                      q.at[0]);
        return NULL;
    }
    lengths = import_reshape(n, lengths, GLOW_DIMS_OF(s.at[0], 1, 1, 1));
    mask = limit_mask(n, mask, exists(n, lengths, q.at[2], k.at[2], a->causal));
    a->causal = false;
    return mask;
}

static bool
attention(import_node *n)
{
    glow_attention a = {
        .soft_cap = import_float(n, "softcap", 0),
        .causal = import_flag(n, "is_causal", false),
        .scores = (int)import_int(n, "qk_matmul_output_mode", 0, 0, 3),
    };
    int64_t heads = import_int(n, "q_num_heads", 0, 0, INT32_MAX);
    int64_t kv_heads = import_int(n, "kv_num_heads", 0, 0, INT32_MAX);
    float scale = import_float(n, "scale", 0);
    bool scaled = import_has(n, "scale"), joined;
    glow_value *q, *k, *v, *seen, *mask, *y;

    import_ignore(n, "softmax_precision"); /* never less here */
    if (!import_operands(n, 3, n->opset < 24 ? 6 : 7))
        return false;
    joined = import_shape(import_in(n, Q)).rank == 3;
    q = import_split_heads(n, import_in(n, Q), heads, "Q (q_num_heads)");
    k = import_split_heads(n, import_in(n, K), kv_heads, "K (kv_num_heads)");
    v = import_split_heads(n, import_in(n, V), kv_heads, "V (kv_num_heads)");
    if (n->failed)
        return false;
    if (import_in(n, PAST_K) && import_shape(import_in(n, PAST_K)).rank == 4)
        a.past = import_shape(import_in(n, PAST_K)).at[2];
    k = after_past(n, PAST_K, k);
    v = after_past(n, PAST_V, v);
    if (n->failed || import_shape(q).rank != 4 || import_shape(k).rank != 4)
        return import_refuse(n, "E0711",
                             "the ranks of Q and K are %d and %d, but must be "
                             "both 3 or both 4",
                             import_shape(q).rank, import_shape(k).rank);
    a.scale = scaled ? scale : (float)(1 / sqrt((double)import_shape(q).at[3]));
    mask = mask_padding(n, &a, read_mask(n, import_shape(k).at[2]),
                        import_shape(q), import_shape(k));
    seen = import_convert(n, v, q->type->elem);
    y = import_build(n, &glow_op_attention, NULL, GLOW_IN(q, k, seen, mask),
                     &a);
    if (!y)
        return false;
    import_give(n, 1, k);
    import_give(n, 2, v);
    import_give(n, 3, y->def->out[1]);
    return import_done(n, joined ? import_join_heads(n, y) : y);
}

/* Cos or sin for each row, gathered by position ids if these are given. */
static glow_value *
angles(import_node *n, int i, int64_t pairs)
{
    glow_value *v = import_in(n, i);

    if (import_in(n, 3))
        v = BUILD(n, gather, GLOW_IN(v, import_in(n, 3)), .axis = 0);
    if (n->failed || pairs == 0)
        return v;
    if (import_shape(v).rank != 3 || import_shape(v).at[2] != pairs) {
        import_refuse(n, "E0711",
                      "operand %d must have %" PRId64 " angles for each row of "
                      "the batch",
                      i, pairs);
        return v;
    }
    return v;
}

static bool
rotary_embedding(import_node *n)
{
    bool interleaved = import_flag(n, "interleaved", false);
    int64_t size = import_int(n, "rotary_embedding_dim", 0, 0, INT32_MAX);
    int64_t heads = import_int(n, "num_heads", 0, 0, INT32_MAX);
    glow_value *x, *c, *s;
    bool joined;

    if (!import_operands(n, 3, 4))
        return false;
    joined = import_shape(import_in(n, 0)).rank == 3;
    x = import_split_heads(n, import_in(n, 0), heads,
                           "the operand (num_heads)");
    if (n->failed || import_shape(x).rank != 4)
        return import_refuse(n, "E0711",
                             "the rank of the operand is %d, but must be 3 or "
                             "4",
                             import_shape(import_in(n, 0)).rank);
    size = size ? size : import_shape(x).at[3];
    c = angles(n, 1, size / 2);
    s = angles(n, 2, size / 2);
    x = BUILD(n, rotaryembedding, GLOW_IN(x, c, s), .interleaved = interleaved);
    return import_done(n, joined && x ? import_join_heads(n, x) : x);
}

/*
 * TensorScatter: rows of an update are written to a cache, from a position of
 * each sample on, as slices of a ScatterData at
 *
 *     [b, .., (first[b] + s) mod T]   for each row s of the update
 *
 * mod only where the mode is circular.
 */

#define MAX_SLICES (INT64_C(1) << 24)

/* The positions `first` + s along the axis, as `each`, which is [B, .., S, 1]. */
static glow_value *
row_positions(import_node *n, glow_dims each, int64_t size, bool circular)
{
    int64_t rows = each.at[each.rank - 2];
    int64_t *at = GLOW_NEW_ARRAY(import_arena(n), int64_t, rows + 1);
    glow_dims batch = each;
    glow_value *row, *first = import_in(n, 2);

    for (int64_t i = 0; i < rows; i++)
        at[i] = i;
    row = import_constant_ints(n, GLOW_DIMS_OF(rows, 1), at);
    for (int i = 1; i < batch.rank; i++)
        batch.at[i] = 1;
    if (first &&
        !glow_dims_equal(import_shape(first), GLOW_DIMS_OF(each.at[0]))) {
        import_refuse(n, "E0711",
                      "write_indices must be a list of %" PRId64
                      " positions, one for each sample",
                      each.at[0]);
        return NULL;
    }
    if (first)
        row = import_binary(
            n, &glow_op_add,
            import_reshape(n, import_convert(n, first, GLOW_INDEX64), batch),
            row);
    if (circular)
        row = import_binary(
            n, &glow_op_mod, row,
            import_constant_splat(n, GLOW_INDEX64, (glow_dims){0}, 0, size));
    return import_broadcast(n, row, each);
}

/* The indices of all axes but the last one of `each`, which is [B, .., S, 1]. */
static glow_value *
row_prefixes(import_node *n, glow_dims each)
{
    int axes = each.rank - 2;
    glow_dims shape = each, rows = each;
    int64_t *at = GLOW_NEW_ARRAY(import_arena(n), int64_t,
                                 glow_dims_count(each) * axes + 1);
    int64_t k = 0;

    rows.rank--;
    shape.at[shape.rank - 1] = axes;
    GLOW_FOR_EACH_INDEX(i, rows)
        for (int d = 0; d < axes; d++)
            at[k++] = i.at[d];
    return import_constant_ints(n, shape, at);
}

/* True if `update` fits `cache` along `axis`. */
static bool
check_update(import_node *n, glow_dims cache, glow_dims update, int axis)
{
    if (axis == 0)
        return import_refuse(n, "E0711", "axis 0 is the batch's");
    if (update.rank != cache.rank)
        return import_refuse(n, "E0711",
                             "the ranks of cache and update are %d and %d",
                             cache.rank, update.rank);
    for (int i = 0; i < cache.rank; i++)
        if (i == axis ? update.at[i] > cache.at[i]
                      : update.at[i] != cache.at[i])
            return import_refuse(n, "E0711",
                                 "axis %d of the update has %" PRId64
                                 " elements, that of the cache %" PRId64,
                                 i, update.at[i], cache.at[i]);
    if (glow_dims_product(update, 0, axis + 1) > MAX_SLICES)
        return import_refuse(
            n, "E0711", "the update has over %" PRId64 " slices", MAX_SLICES);
    return true;
}

static bool
tensor_scatter(import_node *n)
{
    static const char *const modes[] = {"linear", "circular", NULL};
    bool circular = import_word(n, "mode", "linear", modes) == 1;
    glow_dims cache, update, each;
    glow_value *at;
    int axis;

    if (!import_operands(n, 2, 3))
        return false;
    cache = import_shape(import_in(n, 0));
    update = import_shape(import_in(n, 1));
    axis = import_axis_attr(n, -2, cache.rank);
    if (n->failed || !check_update(n, cache, update, axis))
        return false;
    each = update;
    each.rank = axis + 2;
    each.at[axis + 1] = 1;
    at = row_positions(n, each, cache.at[axis], circular);
    at = BUILD(n, concat, GLOW_IN(row_prefixes(n, each), at), .dim = axis + 1);
    return !n->failed &&
           import_done(n, BUILD(n, scatterdata,
                                GLOW_IN(import_in(n, 0), at, import_in(n, 1))));
}

const import_row import_attention_rows[] = {
    {"Attention", 23, 0, attention, &glow_op_attention,
     "floats; ranks 3 and 4; softmax_precision is ignored; nonpad_kv_seqlen "
     "since opset 24, with which the last row is causal to the last key"},
    {"RotaryEmbedding", 23, 0, rotary_embedding, &glow_op_rotaryembedding,
     "floats; ranks 3 and 4"},
    {"TensorScatter", 24, 0, tensor_scatter, &glow_op_scatterdata,
     "any; a position that does not fit the cache fails at run time"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

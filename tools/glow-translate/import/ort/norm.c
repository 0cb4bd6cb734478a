/*
 * Normalization of rows as fused by ONNX Runtime: with an addition before, with
 * embeddings, and by the root mean square.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/ort/ort.h"

/*
 * The mean of the squares along the axes from `axis` on, which are kept with
 * size 1.
 */
static glow_value *
mean_square(import_node *n, glow_value *x, int axis)
{
    glow_dims axes = {0}, shape = import_shape(x);
    glow_value *y;

    for (int i = axis; i < shape.rank; i++) {
        axes.at[axes.rank++] = i;
        shape.at[i] = 1;
    }
    y = import_binary(n, &glow_op_mul, x, x);
    if (n->failed)
        return NULL;
    return import_reshape(
        n, BUILD(n, batchedreducemean, GLOW_IN(y), .axes = axes), shape);
}

/* 1 / sqrt(mean square + epsilon), in float. */
static glow_value *
inverse_root(import_node *n, glow_value *x, int axis, float epsilon)
{
    glow_value *y;

    x = import_convert(n, x, GLOW_FLOAT);
    y = import_binary_number(n, &glow_op_add, mean_square(n, x, axis),
                             (double)epsilon);
    if (n->failed)
        return NULL;
    y = BUILD_PLAIN(n, sqrt, GLOW_IN(y));
    return import_binary(n, &glow_op_div,
                         import_splat(n, GLOW_FLOAT, import_shape(y), 1), y);
}

/* The shape of the normalized axes, to which `scale` is broadcast. */
static glow_dims
normalized_shape(import_node *n, const glow_value *x, int axis)
{
    glow_dims each = {0};

    (void)n;
    for (int i = axis; i < x->type->shape.rank; i++)
        each.at[each.rank++] = x->type->shape.at[i];
    return each;
}

static glow_value *
by_root(import_node *n, glow_value *x, glow_value *scale, int axis,
        float epsilon)
{
    if (n->failed)
        return NULL;
    scale = import_broadcast(n, scale, normalized_shape(n, x, axis));
    return BUILD(n, rmsnormalization, GLOW_IN(x, scale), .axis = axis,
                 .epsilon = epsilon);
}

/*
 * SimplifiedLayerNormalization, of any axis, as PyTorch's RMSNorm is optimized
 * to.
 */
static bool
simplified(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);
    glow_value *x = import_in(n, 0);
    int axis;

    import_int(n, "stash_type", 1, 1, 1);
    if (!import_operands(n, 2, 2))
        return false;
    axis = import_axis_attr(n, -1, x->type->shape.rank);
    if (n->failed)
        return false;
    if (import_wants(n, 1))
        n->out[1] = inverse_root(n, x, axis, epsilon);
    return import_done(n, by_root(n, x, import_in(n, 1), axis, epsilon));
}

/* x + skip + bias of rank 2 or 3; its last axis is that of `scale`. */
static glow_value *
skipped(import_node *n, int bias)
{
    glow_value *x = import_in(n, 0), *sum;
    glow_dims shape = import_shape(x);

    if (shape.rank < 2 || shape.rank > 3) {
        import_refuse(n, "E0711",
                      "the rank of operand 0 is %d, but must be 2 or 3",
                      shape.rank);
        return NULL;
    }
    for (int i = 2; i <= bias; i++)
        ort_check_shape(n, i, GLOW_DIMS_OF(shape.at[shape.rank - 1]));
    sum = ort_add(n, x, import_in(n, 1));
    sum = ort_add(n, sum, import_in(n, bias));
    if (n->n_out > 3)
        n->out[3] = sum;
    return sum;
}

static bool
skip_simplified(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);
    glow_value *x;

    if (!import_operands(n, 3, 4))
        return false;
    x = skipped(n, 3);
    if (n->failed)
        return false;
    if (import_wants(n, 2))
        n->out[2] = inverse_root(n, x, import_shape(x).rank - 1, epsilon);
    return import_done(
        n, by_root(n, x, import_in(n, 2), import_shape(x).rank - 1, epsilon));
}

/* LayerNormalization of the last axis, without a bias or with one. */
static glow_value *
layer(import_node *n, glow_value *x, glow_value *scale, glow_value *bias,
      float epsilon)
{
    if (n->failed || !x)
        return NULL;
    return BUILD(n, layernormalization, GLOW_IN(x, scale, bias),
                 .axis = x->type->shape.rank - 1, .epsilon = epsilon);
}

/* The mean of each row, and the inverse of its deviation. */
static void
row_statistics(import_node *n, glow_value *x, float epsilon)
{
    glow_dims shape = import_shape(x);
    int last = shape.rank - 1;
    glow_value *mean;

    if (n->failed || (!import_wants(n, 1) && !import_wants(n, 2)))
        return;
    x = import_convert(n, x, GLOW_FLOAT);
    shape.at[last] = 1;
    mean = BUILD(n, batchedreducemean, GLOW_IN(x), .axes = GLOW_DIMS_OF(last));
    mean = import_reshape(n, mean, shape);
    x = import_binary(n, &glow_op_sub, x, mean);
    n->out[1] = mean;
    if (n->n_out > 2)
        n->out[2] = inverse_root(n, x, last, epsilon);
}

static bool
skip_layer(import_node *n)
{
    float epsilon = import_float(n, "epsilon", 1e-5f);
    glow_value *x;

    if (!import_operands(n, 3, 5))
        return false;
    x = skipped(n, 4);
    row_statistics(n, x, epsilon);
    return import_done(n,
                       layer(n, x, import_in(n, 2), import_in(n, 3), epsilon));
}

/* Rows of a table, gathered by `ids`. */
static glow_value *
rows(import_node *n, int table, glow_value *ids)
{
    if (n->failed || !ids || !import_in(n, table))
        return NULL;
    return BUILD(n, gather, GLOW_IN(import_in(n, table), ids), .axis = 0);
}

/*
 * The first rows of the position table, or the rows of position_ids, operand 8.
 */
static glow_value *
positions(import_node *n, int table, glow_dims ids)
{
    glow_value *t = import_in(n, table);

    if (import_in(n, 8)) {
        if (import_shape(import_in(n, 8)).rank != 2 ||
            (import_shape(import_in(n, 8)).at[0] != 1 &&
             import_shape(import_in(n, 8)).at[0] != ids.at[0]))
            import_refuse(n, "E0711", "position_ids is not of a batch");
        return rows(n, table, import_in(n, 8));
    }
    if (n->failed || t->type->shape.at[0] < ids.at[1]) {
        import_refuse(n, "E0711",
                      "%" PRId64 " positions, but the table has %" PRId64,
                      ids.at[1], import_shape(t).at[0]);
        return NULL;
    }
    return import_cut(n, t, 0, 0, ids.at[1]);
}

/* The number of ones in each row of the mask; 0 without a mask. */
static glow_value *
mask_index(import_node *n, glow_value *mask, int64_t batch)
{
    glow_value *one;

    if (!mask)
        return import_constant_splat(n, GLOW_INDEX32, GLOW_DIMS_OF(batch), 0,
                                     0);
    one = import_constant_splat(n, mask->type->elem, mask->type->shape, 1, 1);
    one = BUILD_PLAIN(n, cmpeq, GLOW_IN(mask, one));
    one = import_convert(n, one, GLOW_INDEX32);
    return BUILD(n, batchedreduceadd, GLOW_IN(one), .axes = GLOW_DIMS_OF(1));
}

static bool
embed_layer(import_node *n)
{
    enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK };
    float epsilon = import_float(n, "epsilon", 1e-12f);
    glow_value *x, *segment;

    import_int(n, "mask_index_type", 0, 0, 1); /* of the result's shape alone */
    if (n->n_in < 7 || n->n_in > 9)
        return import_operands(n, 7, 9);
    for (int i = 0; i < 7; i++)
        if (i != SEGMENTS && i != SEGMENT && !import_in(n, i))
            return import_refuse(n, "E0711", "operand %d is missing", i);
    if (!import_operands(n, 1, 9) || !ort_check_rank(n, IDS, 2) ||
        !ort_check_rank(n, WORD, 2) || !ort_check_rank(n, POSITION, 2) ||
        !ort_check_rank(n, SEGMENT, 2) ||
        !ort_check_shape(n, SEGMENTS, import_shape(import_in(n, IDS))) ||
        !ort_check_shape(n, MASK, import_shape(import_in(n, IDS))))
        return false;
    if (!import_in(n, SEGMENTS) != !import_in(n, SEGMENT))
        return import_refuse(n, "E0711",
                             "segment_ids and segment_embedding go together");
    x = rows(n, WORD, import_in(n, IDS));
    x = ort_add(n, x, positions(n, POSITION, import_shape(import_in(n, IDS))));
    segment = rows(n, SEGMENT, import_in(n, SEGMENTS));
    x = ort_add(n, x, segment);
    if (n->failed)
        return false;
    if (import_wants(n, 1))
        n->out[1] = mask_index(n, import_in(n, MASK), x->type->shape.at[0]);
    if (n->n_out > 2)
        n->out[2] = x;
    return import_done(
        n, layer(n, x, import_in(n, GAMMA), import_in(n, BETA), epsilon));
}

/* GroupNorm over the last axis or the second, after a sum or not. */
static bool
group(import_node *n)
{
    bool adds = n->row->op == NULL;
    float epsilon = import_float(n, "epsilon", 1e-5f);
    int64_t groups = import_int(n, "groups", 0, 1, INT32_MAX);
    bool last = import_flag(n, "channels_last", true);
    bool gates = import_flag(n, "activation", false);
    glow_value *x, *scale, *bias;
    glow_dims shape;
    int channels;

    if (!import_has(n, "groups"))
        return import_refuse(n, "E0710", "groups is missing");
    if (!import_operands(n, adds ? 4 : 3, adds ? 5 : 3) ||
        !ort_check_rank(n, 0, 4))
        return false;
    x = import_in(n, 0);
    shape = x->type->shape;
    channels = last ? 3 : 1;
    for (int i = 1; i < n->n_in; i++)
        if (i != 3)
            ort_check_shape(n, i, GLOW_DIMS_OF(shape.at[channels]));
    for (int i = 3; i < n->n_in && adds; i++) {
        glow_value *v = import_in(n, i);
        glow_dims each = GLOW_DIMS_OF(1, 1, 1, 1);

        if (import_shape(v).rank == 4 || n->failed) {
            x = ort_add(n, x, v);
            continue;
        }
        /* One number for each channel, of each image or of all. */
        each.at[0] = import_shape(v).rank == 2 ? shape.at[0] : 1;
        each.at[channels] = shape.at[channels];
        x = ort_add(n, x, import_reshape(n, v, each));
    }
    if (n->failed)
        return false;
    if (n->n_out > 1)
        n->out[1] = x;
    scale = import_convert(n, import_in(n, 1), x->type->elem);
    bias = import_convert(n, import_in(n, 2), x->type->elem);
    x = BUILD(n, groupnormalization, GLOW_IN(x, scale, bias),
              .channel_idx = channels, .group = groups, .epsilon = epsilon);
    return import_done(n, gates ? ort_gate(n, x, 1) : x);
}

const import_row import_ort_norm_rows[] = {
    {"SimplifiedLayerNormalization", 1, 0, simplified,
     &glow_op_rmsnormalization, "floats; of ONNX Runtime; stash_type 1"},
    {"com.microsoft.EmbedLayerNormalization", 1, 0, embed_layer,
     &glow_op_layernormalization, "floats; of the sum of embeddings"},
    {"com.microsoft.GroupNorm", 1, 0, group, &glow_op_groupnormalization,
     "floats; rank 4"},
    {"com.microsoft.SimplifiedLayerNormalization", 1, 0, simplified,
     &glow_op_rmsnormalization, "floats; stash_type 1"},
    {"com.microsoft.SkipGroupNorm", 1, 0, group, NULL,
     "floats; rank 4; Add, then as GroupNorm"},
    {"com.microsoft.SkipLayerNormalization", 1, 0, skip_layer,
     &glow_op_layernormalization, "floats; ranks 2 and 3; of the sum"},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, 0, skip_simplified,
     &glow_op_rmsnormalization, "floats; ranks 2 and 3; of the sum"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

/* Import of layout operators. */

#include <inttypes.h>

#include "tools/glow-translate/caffe2/caffe2.h"

/* A constant list of int32, the form of shapes. */
static glow_value *
int32_list(import_node *n, const int64_t *at, int count)
{
    return import_convert(n, import_constant_ints(n, GLOW_DIMS_OF(count), at),
                          GLOW_INDEX32);
}

/* Shapes. */

/* The new shape is an argument or an operand; the old one a result. */
static bool
reshape(import_node *n)
{
    const import_row *any;

    if (!import_operands(n, 1, 2))
        return false;

    glow_dims old = n->in[0]->type->shape;

    n->opset = n->n_in == 1 ? 1 : 5;
    if (n->n_in == 2)
        import_ignore(n, "shape");
    if (!import_find_row("Reshape", n->opset, &any)->run(n))
        return false;
    if (n->n_out > 1)
        n->out[1] = import_constant_ints(n, GLOW_DIMS_OF(old.rank), old.at);
    return !n->failed;
}

static bool
flatten_to_vec(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, import_reshape(
                              n, n->in[0],
                              GLOW_DIMS_OF(glow_type_count(n->in[0]->type))));
}

/* Argument `dims` as a set of axes of a tensor of `rank`. */
static bool
named_axes(import_node *n, int rank, bool used[GLOW_MAX_RANK])
{
    glow_ints dims = import_ints(n, "dims");

    for (int64_t i = 0; i < dims.count; i++) {
        int axis = import_axis(n, dims.at[i], rank);

        if (n->failed)
            return false;
        if (used[axis])
            return import_refuse(n, "E0710", "axis %d is named twice", axis);
        used[axis] = true;
    }
    return !n->failed;
}

static bool
squeeze(import_node *n)
{
    bool gone[GLOW_MAX_RANK] = {false};

    if (!import_operands(n, 1, 1))
        return false;

    glow_dims shape = n->in[0]->type->shape, to = {0};

    if (!named_axes(n, shape.rank, gone))
        return false;
    for (int i = 0; i < shape.rank; i++) {
        if (!gone[i])
            to.at[to.rank++] = shape.at[i];
        else if (shape.at[i] != 1)
            return import_refuse(n, "E0711", "axis %d is %" PRId64 " long", i,
                                 shape.at[i]);
    }
    return import_done(n, import_reshape(n, n->in[0], to));
}

static bool
expand_dims(import_node *n)
{
    bool added[GLOW_MAX_RANK] = {false};
    glow_ints dims = import_ints(n, "dims");

    if (!import_operands(n, 1, 1))
        return false;

    glow_dims shape = n->in[0]->type->shape, to = {0};

    if (dims.count > GLOW_MAX_RANK - shape.rank)
        return import_refuse(n, "E0711", "the new rank is over %d",
                             GLOW_MAX_RANK);
    to.rank = shape.rank + (int)dims.count;
    if (!named_axes(n, to.rank, added))
        return false;
    for (int i = 0, from = 0; i < to.rank; i++)
        to.at[i] = added[i] ? 1 : shape.at[from++];
    return import_done(n, import_reshape(n, n->in[0], to));
}

/* Axes. */

static bool
transpose(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    int rank = n->in[0]->type->shape.rank;
    bool given = import_has(n, "axes"), used[GLOW_MAX_RANK] = {false};
    glow_dims p = import_dims(n, "axes", rank, 0, 0);

    for (int i = 0; i < rank && !n->failed; i++) {
        if (!given)
            p.at[i] = rank - 1 - i;
        if (p.at[i] >= rank || used[p.at[i]])
            return import_refuse(n, "E0710", "axes is no permutation");
        used[p.at[i]] = true;
    }
    return import_done(n, import_transpose(n, n->in[0], p));
}

static bool
to_channels_last(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, import_to_nhwc(n, n->in[0]));
}

static bool
to_channels_first(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, import_to_nchw(n, n->in[0]));
}

/* Channel k of group g becomes channel g of group k. */
static bool
channel_shuffle(import_node *n)
{
    bool last = caffe2_channels_last(n);
    int64_t group = import_int(n, "group", 1, 1, INT32_MAX);

    import_ignore(n, "kernel");
    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = n->in[0];
    glow_dims shape = x->type->shape, apart = {0}, p = {0};
    int axis = last ? shape.rank - 1 : 1;

    if (shape.rank < 2 || shape.rank >= GLOW_MAX_RANK)
        return import_refuse(n, "E0711", "an operand of rank %d", shape.rank);
    if (shape.at[axis] % group != 0)
        return import_refuse(
            n, "E0711", "%" PRId64 " channels are not divisible by %" PRId64,
            shape.at[axis], group);
    for (int i = 0; i < shape.rank; i++) {
        if (i == axis)
            apart.at[apart.rank++] = group;
        apart.at[apart.rank++] = i == axis ? shape.at[i] / group : shape.at[i];
    }
    p.rank = apart.rank;
    for (int i = 0; i < p.rank; i++)
        p.at[i] = i == axis ? axis + 1 : i == axis + 1 ? axis : i;
    x = import_transpose(n, import_reshape(n, x, apart), p);
    return import_done(n, import_reshape(n, x, shape));
}

/* Concatenation and slices. */

/* The size of each operand along the axis: 1 if the axis is new. */
static glow_value *
split_info(import_node *n, int axis, bool is_new)
{
    int64_t *sizes = GLOW_NEW_ARRAY(import_arena(n), int64_t, n->n_in);

    for (int i = 0; i < n->n_in; i++)
        sizes[i] = is_new ? 1 : n->in[i]->type->shape.at[axis];
    return int32_list(n, sizes, n->n_in);
}

static bool
concat(import_node *n)
{
    bool last = caffe2_channels_last(n);
    bool is_new = import_flag(n, "add_axis", false);

    if (!import_operands(n, 1, INT32_MAX))
        return false;

    int rank = n->in[0]->type->shape.rank + is_new;
    int axis = import_axis_attr(n, last ? rank - 1 : 1, rank);

    if (n->failed || rank > GLOW_MAX_RANK)
        return import_refuse(n, "E0711", "the new rank is over %d",
                             GLOW_MAX_RANK);
    for (int i = 0; i < n->n_in; i++) {
        glow_dims shape = n->in[i]->type->shape, to = {.rank = rank};

        if (shape.rank + is_new != rank)
            return import_refuse(n, "E0711", "operand %d is of rank %d, not %d",
                                 i, shape.rank, rank - is_new);
        for (int k = 0, from = 0; k < rank; k++)
            to.at[k] = is_new && k == axis ? 1 : shape.at[from++];
        n->in[i] = import_reshape(n, n->in[i], to);
    }
    if (n->failed)
        return false;
    if (n->n_out > 1)
        n->out[1] = split_info(n, axis, is_new);
    return import_done(
        n, n->n_in == 1 ? n->in[0]
                        : import_build(n, &glow_op_concat, NULL, n->in, n->n_in,
                                       &(const glow_concat){axis}));
}

/* Split: sizes of an argument or operand, or equal sizes. */
static bool
split(import_node *n)
{
    bool last = caffe2_channels_last(n);
    glow_ints sizes = import_ints(n, "split");
    int64_t whole;

    if (!import_operands(n, 1, 2))
        return false;
    if (n->n_in == 2)
        sizes = import_known_ints(n, 1);

    glow_value *x = n->in[0];
    int rank = x->type->shape.rank;
    int axis = import_axis_attr(n, last ? rank - 1 : 1, rank);

    if (n->failed)
        return false;
    whole = x->type->shape.at[axis];
    if (sizes.count ? sizes.count != n->n_out : whole % n->n_out != 0)
        return import_refuse(n, "E0711",
                             "%" PRId64 " elements in %" PRId64
                             " parts for %d results",
                             whole, sizes.count, n->n_out);
    if (sizes.count == 0) {
        int64_t *equal = GLOW_NEW_ARRAY(import_arena(n), int64_t, n->n_out);

        for (int i = 0; i < n->n_out; i++)
            equal[i] = whole / n->n_out;
        sizes = (glow_ints){.count = n->n_out, .at = equal};
    }
    return import_parts(n, x, axis, sizes.at);
}

/* Bounds below 0 count from one past the end: -1 is the end. */
static bool
slice(import_node *n)
{
    glow_ints starts = {0}, ends = {0};

    if (!import_operands(n, 1, 3))
        return false;
    starts = n->n_in == 3 ? import_known_ints(n, 1) : import_ints(n, "starts");
    ends = n->n_in == 3 ? import_known_ints(n, 2) : import_ints(n, "ends");

    glow_value *x = n->in[0];
    glow_dims shape = import_shape(x);

    if (starts.count != ends.count || starts.count > shape.rank)
        return import_refuse(n, "E0710",
                             "%" PRId64 " starts and %" PRId64
                             " ends for a tensor of rank %d",
                             starts.count, ends.count, shape.rank);
    for (int i = 0; i < (int)starts.count; i++) {
        int64_t size = shape.at[i], from = starts.at[i], to = ends.at[i];

        from = from > size ? size : from < 0 ? size + 1 + from : from;
        to = to > size ? size : to < 0 ? size + 1 + to : to;
        if (from < 0 || to < from)
            return import_refuse(n, "E0710",
                                 "axis %d, %" PRId64 " long, has nothing from "
                                 "%" PRId64 " to %" PRId64,
                                 i, size, starts.at[i], ends.at[i]);
        x = import_cut(n, x, i, from, to - from);
    }
    return import_done(n, x);
}

/* Tile along an axis; count and axis may be operands. */
static bool
tile(import_node *n)
{
    int64_t tiles = import_int(n, "tiles", 1, 0, INT32_MAX), axis;

    if (!import_operands(n, 1, 3))
        return false;

    glow_value *x = n->in[0];

    axis = import_int(n, "axis", 0, INT32_MIN, INT32_MAX);
    if (import_in(n, 1))
        tiles = (int64_t)import_known_number(n, 1);
    if (import_in(n, 2))
        axis = (int64_t)import_known_number(n, 2);
    axis = import_axis(n, axis, import_shape(x).rank);
    if (!n->failed && tiles < 1)
        return import_refuse(n, "E0710", "tiles is %" PRId64, tiles);
    return import_done(
        n, BUILD(n, tile, GLOW_IN(x), .count = tiles, .axis = (int)axis));
}

/* Selection. */

static bool
gather_along(import_node *n, int64_t axis)
{
    int rank = import_shape(import_in(n, 0)).rank;

    if (!import_operands(n, 2, 2))
        return false;
    axis = import_axis(n, axis, rank);
    if (n->failed)
        return false;
    return import_done(
        n, BUILD(n, gather, GLOW_IN(n->in[0], n->in[1]), .axis = (int)axis));
}

static bool
gather(import_node *n)
{
    return gather_along(
        n, import_int(n, "axis", 0, -GLOW_MAX_RANK, GLOW_MAX_RANK));
}

static bool
batch_gather(import_node *n)
{
    return gather_along(n, 1);
}

/* Along the last axis, or another that is moved there and back. */
static bool
top_k(import_node *n)
{
    int64_t k = import_int(n, "k", 1, 1, INT32_MAX);

    if (!import_operands(n, 1, 1))
        return false;
    if (import_wants(n, 2))
        return import_refuse(n, "E0705", "the third result is not supported");

    glow_value *x = n->in[0], *values;
    int rank = x->type->shape.rank;
    int axis = import_axis_attr(n, -1, rank);
    glow_dims swap = {.rank = rank};

    if (n->failed)
        return false;
    for (int i = 0; i < rank; i++)
        swap.at[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    values = BUILD(n, topk, GLOW_IN(import_transpose(n, x, swap)), .k = k);
    if (n->failed)
        return false;
    if (n->n_out > 1)
        n->out[1] = import_transpose(
            n, import_convert(n, values->def->out[1], GLOW_INDEX64), swap);
    return import_done(n, import_transpose(n, values, swap));
}

const import_row caffe2_layout_rows[] = {
    {"BatchGather", 1, 0, batch_gather, NULL, NULL},
    {"ChannelShuffle", 1, 0, channel_shuffle, NULL, NULL},
    {"Concat", 1, 0, concat, NULL, NULL},
    {"ExpandDims", 1, 0, expand_dims, NULL, NULL},
    {"FlattenToVec", 1, 0, flatten_to_vec, NULL, NULL},
    {"Gather", 1, 0, gather, NULL, NULL},
    {"NCHW2NHWC", 1, 0, to_channels_last, NULL, NULL},
    {"NHWC2NCHW", 1, 0, to_channels_first, NULL, NULL},
    {"Reshape", 1, 0, reshape, NULL, NULL},
    {"Slice", 1, 0, slice, NULL, NULL},
    {"Split", 1, 0, split, NULL, NULL},
    {"Squeeze", 1, 0, squeeze, NULL, NULL},
    {"Tile", 1, 0, tile, NULL, NULL},
    {"TopK", 1, 0, top_k, NULL, NULL},
    {"Transpose", 1, 0, transpose, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};
